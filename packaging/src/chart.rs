//! Helm charts, made from the manifests that `kubectl apply -k` uses: a template is a manifest in which some lines depend on
//! values.

mod agent;
mod broker;

use thiserror::Error;

pub use agent::AGENT;
pub use broker::BROKER;

/// A chart: where it is, and what its templates are made from.
#[derive(Debug)]
pub struct Chart {
    /// Its folder below the root of the project.
    pub folder: &'static str,
    /// Its templates.
    pub templates: &'static [Template],
    /// Definitions of custom resources, which are taken as they are: manifest and name.
    pub definitions: &'static [(&'static str, &'static str)],
}

/// A manifest, and what depends on values in it.
#[derive(Debug)]
pub struct Template {
    /// The manifest, below the root of the project.
    pub manifest: &'static str,
    /// Its name in the chart.
    pub name: &'static str,
    /// The value without which there is none of it.
    pub only_if: Option<&'static str>,
    /// Which lines become others.
    pub changes: &'static [Change],
}

/// A line of a manifest, without its indentation, and what it becomes; further lines are indented as it is.
pub type Change = (&'static str, &'static str);

/// Why a manifest does not make a template.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ChartError {
    /// A line to be changed is not there.
    #[error("{manifest} has no line `{line}`")]
    NoLine {
        /// The manifest.
        manifest: &'static str,
        /// What was looked for.
        line: &'static str,
    },
}

impl Template {
    /// The template, from the text of the manifest.
    pub fn render(&self, manifest: &str) -> Result<String, ChartError> {
        for (line, _) in self.changes {
            if !manifest.lines().any(|found| found.trim() == *line) {
                return Err(ChartError::NoLine { manifest: self.manifest, line });
            }
        }
        let heading = format!("{{{{- /* Made from {}. */}}}}\n", self.manifest);
        let lines: String = manifest.lines().map(|line| self.changed(line) + "\n").collect();
        Ok(match self.only_if {
            None => format!("{heading}{lines}"),
            Some(value) => format!("{heading}{{{{- if {value} }}}}\n{lines}{{{{- end }}}}\n"),
        })
    }

    fn changed(&self, line: &str) -> String {
        let plain = line.trim_start();
        let indent = &line[..line.len() - plain.len()];
        match self.changes.iter().find(|(from, _)| *from == plain.trim_end()) {
            None => line.to_owned(),
            Some((_, to)) => {
                to.lines().map(|line| format!("{indent}{line}")).collect::<Vec<_>>().join("\n")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATE: Template = Template {
        manifest: "a.yaml",
        name: "a.yaml",
        only_if: Some(".Values.wanted"),
        changes: &[("size: 1", "size: {{ .Values.size }}\nmore: 2")],
    };

    #[test]
    fn lines_become_what_the_table_says_with_their_indentation() {
        let rendered = TEMPLATE.render("a:\n  size: 1\n").expect("it is there");
        assert_eq!(
            rendered,
            "{{- /* Made from a.yaml. */}}\n{{- if .Values.wanted }}\na:\n  size: {{ .Values.size }}\n  more: 2\n{{- end }}\n"
        );
    }

    #[test]
    fn a_line_that_is_gone_is_noticed() {
        let error = ChartError::NoLine { manifest: "a.yaml", line: "size: 1" };
        assert_eq!(TEMPLATE.render("a:\n  size: 2\n"), Err(error));
    }
}
