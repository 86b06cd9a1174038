//! A node of a whole cluster, which kwok plays.

use std::fmt::Write;

/// What a node has to offer. Quantities are written as Kubernetes reads them.
///
/// ```
/// use rear_testbed::Node;
///
/// let large = Node::new("large").cpu("64").memory("256Gi").resource("nvidia.com/gpu", "8");
/// let plain = Node::new("plain").label("zone", "rome");
/// ```
#[derive(Clone, Debug)]
pub struct Node {
    name: String,
    labels: Vec<(String, String)>,
    resources: Vec<(String, String)>,
}

impl Node {
    /// A node with 8 cores, 32 GiB of memory and room for 110 pods, as the kubelet's default has it.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let node = Self { name: name.to_owned(), labels: Vec::new(), resources: Vec::new() };
        node.cpu("8").memory("32Gi").resource("pods", "110")
    }

    /// Another number of cores.
    #[must_use]
    pub fn cpu(self, quantity: &str) -> Self {
        self.resource("cpu", quantity)
    }

    /// Another amount of memory.
    #[must_use]
    pub fn memory(self, quantity: &str) -> Self {
        self.resource("memory", quantity)
    }

    /// An amount of any resource.
    #[must_use]
    pub fn resource(mut self, name: &str, quantity: &str) -> Self {
        self.resources.retain(|(known, _)| known != name);
        self.resources.push((name.to_owned(), quantity.to_owned()));
        self
    }

    /// A label.
    #[must_use]
    pub fn label(mut self, name: &str, value: &str) -> Self {
        self.labels.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The object to create. All that it has can be allocated.
    pub(crate) fn manifest(&self) -> String {
        let Self { name, labels, resources } = self;
        let hostname = [("kubernetes.io/hostname".to_owned(), name.clone())];
        let labels = mapping(4, hostname.iter().chain(labels));
        let resources = mapping(4, resources);
        format!(
            "apiVersion: v1
kind: Node
metadata:
  name: {name:?}
  labels:
{labels}status:
  capacity:
{resources}  allocatable:
{resources}"
        )
    }
}

fn mapping<'a>(
    indentation: usize,
    entries: impl IntoIterator<Item = &'a (String, String)>,
) -> String {
    entries.into_iter().fold(String::new(), |mut text, (key, value)| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:indentation$}{key:?}: {value:?}", "");
        text
    })
}
