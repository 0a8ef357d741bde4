// How the page is built and tested. Hashed assets may be cached for ever; nothing is inlined, because the server's content
// policy allows only files of its own.
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

const server = process.env.CALLBOARD_URL ?? "http://127.0.0.1:8080";

export default defineConfig({
  plugins: [react()],
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false }, reportCompressedSize: false },
  server: { proxy: { "/api": server, "/login": server } },
  test: { environment: "happy-dom", include: ["src/**/*.test.{ts,tsx}"] },
});
