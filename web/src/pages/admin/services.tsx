// What happens by itself: which process does it, how far it has come, what went wrong.
import { get } from "../../api/client";
import type { Services as Answer } from "../../api/types";
import { CopyLine } from "../../parts/copy";
import { Section } from "../../parts/section";
import { Refused } from "../../parts/states";
import { TonePill } from "../../pill/pill";
import { useDocument } from "../../state/board";
import { count, UNKNOWN } from "../../time/format";
import { Ago } from "../../time/ticking";

type Service = Answer["items"][number];

const TONES: { [standing: string]: "success" | "warning" | "neutral" } = {
  working: "success",
  failing: "warning",
  unattended: "neutral",
};

export function Services() {
  const read = useDocument((signal) => get<Answer>("/services", signal), "services", {
    on: () => false,
    atMostEveryMs: 5000,
    alsoEveryMs: 5000,
  });
  return (
    <Section title="Services" aside={read.data ? count(read.data.items.length) : ""}>
      {read.problem && <Refused problem={read.problem} />}
      {read.data?.items.length === 0 && <p className="faint">No service has run on this store yet.</p>}
      <ul className="services">
        {read.data?.items.map((service) => (
          <One key={service.name} service={service} />
        ))}
      </ul>
      <CopyLine line="callboard doctor" />
    </Section>
  );
}

function One({ service }: { service: Service }) {
  return (
    <li>
      <div className="service-head">
        <span className="service-name">{service.name}</span>
        <TonePill tone={TONES[service.standing] ?? "neutral"} text={service.standing} />
      </div>
      <p className="soft">{service.does}</p>
      <dl className="facts">
        <div>
          <dt>run by</dt>
          <dd>{service.holder ?? "no process"}</dd>
        </div>
        <div>
          <dt>last step</dt>
          <dd className="num">{service.last_step_at ? <Ago at={service.last_step_at} /> : UNKNOWN}</dd>
        </div>
        <div>
          <dt>position</dt>
          <dd className="num">{service.position === null ? UNKNOWN : count(service.position)}</dd>
        </div>
        <div>
          <dt>records behind</dt>
          <dd className="num">{service.lag === null ? UNKNOWN : count(service.lag)}</dd>
        </div>
      </dl>
      {service.error && <p className="service-error">{service.error}</p>}
    </li>
  );
}
