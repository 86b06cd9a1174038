//! What is made from the programs is what is committed. With `BLESS=1` in the environment it is written.

use clap::Arg;
use rear_agent::collect::sums::Totals;
use rear_agent_sdk::Resources;
use rear_api::body::MAX_BODY_LENGTH;
use rear_api::page::MAX_PAGE;
use rear_broker::config::KEYS;
use rear_broker::limits::{
    BODY_DEADLINE, HANDSHAKE_DEADLINE, HEADER_DEADLINE, IDLE_DEADLINE, MAX_CONNECTION_AGE,
    MAX_CONNECTIONS, MAX_EVENT_STREAMS, MAX_HEADER_BYTES, MAX_HEADERS, MAX_INSTRUCTIONS, MAX_ROOM,
    MAX_ROOM_OF_ALL, MAX_STREAMS, MAX_WAIT,
};
use rear_engine::id::MAX_ID_LENGTH;
use rear_packaging::chart::{AGENT, BROKER, Chart};
use rear_packaging::reference::command_line::{self, Program};
use rear_packaging::reference::{api, custom_resources, metrics, values, with_table};
use serde_json::Value;

use super::tree::{assert_is, text};

/// How each page says where it comes from.
const MADE: &str = "made from the program itself: a test compares this page with it\n(`BLESS=1 cargo test -p rear-packaging` writes it anew)";

#[test]
fn the_reference_of_rearctl() {
    let introduction = format!(
        "# `rearctl`\n\nThe command line of a broker's operators and users, {MADE}. How it is used is told in\n\
         [use-rearctl.md](../how-to/use-rearctl.md).\n\n\
         Data goes to the standard output, everything else to the standard error. Colours and progress appear only on a terminal;\n\
         `NO_COLOR` turns colours off. Names and texts of others are printed with control characters escaped.\n"
    );
    let exits = rearctl::cli::EXITS.iter().map(|exit| (exit.code, exit.meaning.to_owned()));
    let page = command_line::page(Program {
        grammar: rearctl::cli::grammar(),
        introduction: &introduction,
        elsewhere: |_| false,
        about_elsewhere: "",
        exits: exits.collect(),
    });
    assert!(page.contains("| 2 | no cluster has room"), "{page}");
    assert_is("docs/reference/rearctl.md", &page);
}

/// The keys of the configuration have a reference of their own.
fn is_key(argument: &Arg) -> bool {
    let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
    KEYS.iter().any(|key| key.name == argument.get_id().as_str() && key.help == help)
}

#[test]
fn the_reference_of_the_broker_s_command_line() {
    let introduction = format!(
        "# The command line of `rear-broker`\n\nEvery command and flag, {MADE}.\n\
         `rear-broker COMMAND --help` says the same. Durations are written as in Go: `90s`, `1h30m`. What a command has to say goes to the\n\
         standard output, what is wrong and the broker's log to the standard error.\n"
    );
    let exits = rear_broker::cli::exit::ALL;
    let page = command_line::page(Program {
        grammar: rear_broker::cli::grammar(),
        introduction: &introduction,
        elsewhere: is_key,
        about_elsewhere: "Beside what is here, there is a flag for each key of [the configuration](configuration.md), such as `--http-port 9443`.",
        exits: exits.iter().map(|(code, meaning)| (*code, (*meaning).to_owned())).collect(),
    });
    assert!(page.contains("## `rear-broker certs issue`"), "{page}");
    assert_is("docs/reference/command-line.md", &page);
}

#[test]
fn the_reference_of_the_fleet_s_command_line() {
    let introduction = format!(
        "# The command line of `rear-fleet`\n\nEvery command and flag of the simulated fleet, {MADE}. How it is used is told in\n\
         [simulate-a-fleet.md](../how-to/simulate-a-fleet.md).\n"
    );
    let exits = rear_fleet::cli::EXITS.map(|(code, meaning)| (code, meaning.to_owned()));
    let page = command_line::page(Program {
        grammar: rear_fleet::cli::grammar(),
        introduction: &introduction,
        elsewhere: |_| false,
        about_elsewhere: "",
        exits: exits.to_vec(),
    });
    assert!(page.contains("## `rear-fleet run`"), "{page}");
    assert_is("docs/reference/rear-fleet.md", &page);
}

/// The agent's metrics, each with a series.
pub(crate) fn of_the_agent() -> String {
    let agent = rear_agent::metrics::Metrics::default();
    agent.has(&Totals::default(), Resources::default(), Resources::default());
    agent.peered(true);
    agent.text().unwrap()
}

#[test]
fn the_flags_and_metrics_of_the_agent() {
    let grammar = rear_agent::cli::grammar();
    let flags = grammar.get_arguments().filter(|argument| command_line::is_own(argument));
    let flags = command_line::table(flags);
    assert!(flags.contains("`--broker-url"), "{flags}");
    let metered = metrics::table(&of_the_agent(), "rear_agent_");
    assert!(metered.contains("`published`"), "{metered}");
    let page = text("docs/reference/agent.md");
    let page = with_table(&page, "| flag | meaning | default |", &flags).expect("a table of flags");
    let page = with_table(&page, metrics::HEADING, &metered).expect("a table of metrics");
    assert_is("docs/reference/agent.md", &page);
}

#[test]
fn the_reference_of_the_custom_resources() {
    let introduction = format!(
        "# Custom resources\n\nThe fields of every kind, {MADE}. What the agent does with those of\n\
         `rear.fluidos.eu` is told in [agent.md](agent.md), what the broker does with those of `broker.fluidos.eu` in [broker-resources.md](broker-resources.md).\n"
    );
    let mut definitions = rear_agent::resources::definitions().to_vec();
    definitions.extend(rear_api::resources::definitions());
    let page = custom_resources::page(&introduction, &definitions);
    assert!(page.contains("| `spec.requestedCPU` |"), "{page}");
    assert!(page.contains("| `spec.resources.capacity` |"), "{page}");
    assert_is("docs/reference/custom-resources.md", &page);
}

#[test]
fn the_reference_of_the_api() {
    let introduction = format!(
        "# The operations of the API\n\nEvery address with what is sent and answered, {MADE}.\n\
         It is [openapi.json](openapi.json) for people. Who may call, headers and limits are in [http-api.md](http-api.md).\n"
    );
    let description: Value = serde_json::from_str(&text("docs/reference/openapi.json")).unwrap();
    let page = api::page(&introduction, &description);
    assert!(page.contains("### `POST /api/v1/reservations`"), "{page}");
    assert_is("docs/reference/api-operations.md", &page);
}

/// The page by hand has the same addresses as the description.
#[test]
fn the_page_about_the_api_has_every_address() {
    let description: Value = serde_json::from_str(&text("docs/reference/openapi.json")).unwrap();
    let page = text("docs/reference/http-api.md");
    let mut count = 0;
    for (path, methods) in description["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            count += 1;
            let call = format!("{} {path}", method.to_uppercase());
            assert!(page.contains(&format!("`{call}`")), "{call}");
        }
    }
    let rows = page.lines().filter(|line| {
        ["| `GET ", "| `POST ", "| `DELETE "].iter().any(|start| line.starts_with(start))
    });
    let shown: usize = rows.map(|row| row.split(" | ").next().unwrap().matches(" /").count()).sum();
    assert_eq!(shown, count, "no address that is not there");
}

/// Thousands apart, as on the page.
fn thousands(number: usize) -> String {
    if number < 1000 {
        return number.to_string();
    }
    format!("{} {:03}", thousands(number / 1000), number % 1000)
}

#[test]
fn the_page_about_the_api_has_the_limits_that_are_there() {
    let page = text("docs/reference/http-api.md");
    for told in [
        format!("| a body | {} MiB, within {} s |", MAX_BODY_LENGTH >> 20, BODY_DEADLINE.as_secs()),
        format!("| headers | {MAX_HEADERS}, {} KiB at HTTP/2 ", MAX_HEADER_BYTES >> 10),
        format!("at HTTP/1.1, within {} s |", HEADER_DEADLINE.as_secs()),
        format!("| a handshake | {} s |", HANDSHAKE_DEADLINE.as_secs()),
        format!("| a silent connection | {} min |", IDLE_DEADLINE.as_secs() / 60),
        format!("| a connection | {} h |", MAX_CONNECTION_AGE.as_secs() / 3600),
        format!("| connections | {}", thousands(MAX_CONNECTIONS)),
        format!("| requests at once on an HTTP/2 connection | {MAX_STREAMS};"),
        format!("| {} MiB of one caller, {} MiB of all |", MAX_ROOM >> 20, MAX_ROOM_OF_ALL >> 20),
        format!("| event streams | {MAX_EVENT_STREAMS} for a caller |"),
        format!("| instructions in one answer | {} |", thousands(MAX_INSTRUCTIONS)),
        format!("at most\n{} seconds", MAX_WAIT.as_secs()),
        format!("(`limit=`, {MAX_PAGE} at most)"),
        format!("(1 to {MAX_ID_LENGTH} lower case letters"),
    ] {
        assert!(page.contains(&told), "{told}");
    }
}

fn assert_chart(chart: &Chart) {
    for template in chart.templates {
        let made = template.render(&text(template.manifest)).unwrap();
        assert_is(&format!("{}/templates/{}", chart.folder, template.name), &made);
    }
    for (manifest, name) in chart.definitions {
        assert_is(&format!("{}/crds/{name}", chart.folder), &text(manifest));
    }
}

#[test]
fn the_chart_of_the_agent_is_its_manifests() {
    assert_chart(&AGENT);
}

#[test]
fn the_chart_of_the_broker_is_its_manifests() {
    assert_chart(&BROKER);
}

#[test]
fn the_reference_of_the_charts() {
    let mut page = format!(
        "# The Helm charts\n\nTheir values, {MADE};\n`values.schema.json` of each chart has them refused when they make no sense. How they are installed is told in\n\
         [install-with-helm.md](../how-to/install-with-helm.md).\n"
    );
    for chart in [&AGENT, &BROKER] {
        let name = chart.folder.rsplit('/').next().unwrap();
        let schema = text(&format!("{}/values.schema.json", chart.folder));
        let schema: Value = serde_json::from_str(&schema).unwrap();
        let defaults = text(&format!("{}/values.yaml", chart.folder));
        let defaults: Value = serde_saphyr::from_str(&defaults).unwrap();
        page.extend(
            [&format!("\n## `{name}`\n\n"), &values::table(&schema, &defaults)].map(String::as_str),
        );
    }
    assert_is("docs/reference/charts.md", &page);
}
