// The one attention document that the frame reads and the home page shows.
import { createContext, useContext } from "react";
import type { Attention } from "../api/types";
import type { Read } from "../state/board";

export const AttentionContext = createContext<Read<Attention>>({
  data: null,
  problem: null,
  at: null,
  reload: () => {},
});

export const useSharedAttention = (): Read<Attention> => useContext(AttentionContext);
