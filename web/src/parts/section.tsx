// A titled part of a page, with a line beside the title for what is known about it.
import { type ReactNode, useId } from "react";

export function Section({
  title,
  aside,
  children,
  id,
}: {
  title: string;
  aside?: ReactNode;
  children: ReactNode;
  id?: string;
}) {
  const own = useId();
  return (
    <section className="section" aria-labelledby={own} id={id}>
      <header>
        <h2 id={own}>{title}</h2>
        {aside !== undefined && <span className="section-aside">{aside}</span>}
      </header>
      {children}
    </section>
  );
}
