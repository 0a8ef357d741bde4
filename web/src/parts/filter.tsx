// The controls of a filter. What they hold is in the URL and nowhere else.
import { type ReactNode, useEffect, useRef, useState } from "react";
import { go, withParams } from "../route/route";

const TYPING_MS = 200;

export function Choice({
  name,
  value,
  none = "any",
  onChange,
  children,
}: {
  name: string;
  value: string;
  none?: string;
  onChange: (to: string) => void;
  children: ReactNode;
}) {
  return (
    <label className="choice" data-set={value !== "" || undefined}>
      <span aria-hidden="true">{name}</span>
      <select aria-label={name} value={value} onChange={(event) => onChange(event.target.value)}>
        <option value="">{none}</option>
        {children}
      </select>
    </label>
  );
}

export function Chip({ name, value }: { name: string; value: string }) {
  return (
    <button
      type="button"
      className="chip"
      onClick={() => go(withParams({ [name]: null }), "replace")}
      aria-label={`Remove the filter ${name} ${value}`}
    >
      {name} {value} ×
    </button>
  );
}

/** The field that `/` puts the focus into; what is typed goes into the address. */
export function Search({ q, placeholder }: { q: string; placeholder: string }) {
  const [text, setText] = useState(q);
  const typed = useRef(false);
  useEffect(() => {
    if (!typed.current) setText(q);
  }, [q]);
  useEffect(() => {
    if (!typed.current) return;
    const timer = setTimeout(() => {
      typed.current = false;
      go(withParams({ q: text.trim() || null }), "replace");
    }, TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <input
      id="filter"
      type="search"
      className="search"
      placeholder={placeholder}
      aria-label={placeholder}
      title="/"
      value={text}
      onChange={(event) => {
        typed.current = true;
        setText(event.target.value);
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") {
          // Some browsers clear a search field on Escape, and tell so only after it has lost the focus.
          event.preventDefault();
          typed.current = false;
          setText("");
          go(withParams({ q: null }), "replace");
        }
        if (event.key === "Escape" || event.key === "Enter") event.currentTarget.blur();
      }}
    />
  );
}
