//! What the standard variables of OpenTelemetry ask for.

use callboard_engine::notify::Address;

/// Where spans are sent, and as whose.
#[derive(Clone)]
pub struct TraceSettings {
    pub(super) address: Address,
    pub(super) service: String,
    /// Headers that let us in; they may be secrets.
    pub(super) headers: Vec<(String, String)>,
}

/// The variables cannot be followed.
#[derive(Debug, thiserror::Error)]
#[error("{variable}: {because}")]
pub struct Untraceable {
    variable: &'static str,
    because: String,
}

const DISABLED: &str = "OTEL_SDK_DISABLED";
const EXPORTER: &str = "OTEL_TRACES_EXPORTER";
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const TRACES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";
const SERVICE: &str = "OTEL_SERVICE_NAME";

impl TraceSettings {
    /// Reads the variables; nothing if they ask for nothing.
    pub fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, Untraceable> {
        let given = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let is_off = given(DISABLED).is_some_and(|value| value.trim().eq_ignore_ascii_case("true"));
        let (name, place) = match (given(TRACES_ENDPOINT), given(ENDPOINT)) {
            _ if is_off || given(EXPORTER).is_some_and(|value| value.trim() == "none") => return Ok(None),
            (Some(whole), _) => (TRACES_ENDPOINT, whole),
            (None, Some(base)) => (ENDPOINT, format!("{}/v1/traces", base.trim_end_matches('/'))),
            (None, None) => return Ok(None),
        };
        let address = Address::parse(place.trim())
            .map_err(|because| Untraceable { variable: name, because: because.to_owned() })?;
        let pair = |text: &str| {
            let (name, value) = text.split_once('=')?;
            let is_clean =
                |text: &str| !text.is_empty() && text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
            let (name, value) = (name.trim(), value.trim());
            (is_clean(name) && is_clean(value)).then(|| (name.to_owned(), value.to_owned()))
        };
        let texts = given(HEADERS).unwrap_or_default();
        let headers: Option<Vec<_>> =
            texts.split(',').filter(|text| !text.trim().is_empty()).map(pair).collect();
        let because = "write name=value, with commas between them".to_owned();
        let headers = headers.ok_or(Untraceable { variable: HEADERS, because })?;
        let service = given(SERVICE).unwrap_or_else(|| "callboard".to_owned());
        Ok(Some(Self { address, service, headers }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Option<TraceSettings>, Untraceable> {
        TraceSettings::read(|name| {
            pairs.iter().find(|(its, _)| *its == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn nothing_is_sent_unless_a_collector_is_named_and_nobody_turned_it_off() {
        let named = (ENDPOINT, "http://127.0.0.1:4318/");
        assert!(read(&[]).unwrap().is_none());
        assert!(read(&[named, (DISABLED, "true")]).unwrap().is_none());
        assert!(read(&[named, (EXPORTER, "none")]).unwrap().is_none());
        let found = read(&[named, (HEADERS, "a=b, c=d")]).unwrap().unwrap();
        assert!(found.address == Address::parse("http://127.0.0.1:4318/v1/traces").unwrap());
        assert_eq!((found.headers.len(), found.service.as_str()), (2, "callboard"));
        let own =
            read(&[named, (TRACES_ENDPOINT, "http://127.0.0.1:1/x"), (SERVICE, "board")]).unwrap().unwrap();
        assert!(own.address == Address::parse("http://127.0.0.1:1/x").unwrap() && own.service == "board");
        assert!(
            read(&[(ENDPOINT, "localhost:4318")]).is_err() && read(&[named, (HEADERS, "x\r\ny=1")]).is_err()
        );
    }
}
