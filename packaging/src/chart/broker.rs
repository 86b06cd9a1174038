//! The chart of the broker.

use super::{Change, Chart, Template};

const NAMESPACE: Change = ("namespace: rear-broker", "namespace: {{ .Release.Namespace }}");

/// Everything of `deploy/broker` but the folder for each cluster.
pub const BROKER: Chart = Chart {
    folder: "deploy/charts/rear-broker",
    templates: &[
        Template {
            manifest: "deploy/broker/rbac.yaml",
            name: "rbac.yaml",
            only_if: None,
            changes: &[NAMESPACE],
        },
        Template {
            manifest: "deploy/broker/service.yaml",
            name: "service.yaml",
            only_if: None,
            changes: &[
                NAMESPACE,
                ("ports:", "{{- with .Values.service.type }}\ntype: {{ . }}\n{{- end }}\nports:"),
            ],
        },
        Template {
            manifest: "deploy/broker/statefulset.yaml",
            name: "statefulset.yaml",
            only_if: None,
            changes: &[
                NAMESPACE,
                (
                    "serviceAccountName: rear-broker",
                    "serviceAccountName: rear-broker\n{{- with .Values.imagePullSecrets }}\nimagePullSecrets: {{ toJson . }}\n{{- end }}\n\
                     {{- with .Values.nodeSelector }}\nnodeSelector: {{ toJson . }}\n{{- end }}\n\
                     {{- with .Values.tolerations }}\ntolerations: {{ toJson . }}\n{{- end }}",
                ),
                (
                    "image: rear-broker:0.1.0",
                    "image: \"{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}\"\n\
                     imagePullPolicy: {{ .Values.image.pullPolicy }}",
                ),
                (
                    "- --broker-interface=http,kubernetes",
                    "- --broker-interface={{ join \",\" .Values.interfaces }}\n{{- range .Values.extraArgs }}\n- {{ . | quote }}\n{{- end }}",
                ),
                ("cpu: 50m", "cpu: {{ .Values.resources.requests.cpu }}"),
                ("memory: 64Mi", "memory: {{ .Values.resources.requests.memory }}"),
                ("memory: 512Mi", "memory: {{ .Values.resources.limits.memory }}"),
                ("secretName: broker-server-tls", "secretName: {{ .Values.certificateSecret }}"),
                (
                    "accessModes: [ReadWriteOnce]",
                    "accessModes: [ReadWriteOnce]\n{{- with .Values.storage.className }}\nstorageClassName: {{ . }}\n{{- end }}",
                ),
                ("storage: 2Gi", "storage: {{ .Values.storage.size }}"),
            ],
        },
        Template {
            manifest: "deploy/broker/certmanager/certificate.yaml",
            name: "certificate.yaml",
            only_if: Some(".Values.certManager.enabled"),
            changes: &[
                NAMESPACE,
                ("secretName: broker-server-tls", "secretName: {{ .Values.certificateSecret }}"),
                ("- rear-broker.rear-broker.svc", "- rear-broker.{{ .Release.Namespace }}.svc"),
                (
                    "- rear-broker.rear-broker.svc.cluster.local",
                    "- rear-broker.{{ .Release.Namespace }}.svc.cluster.local\n{{- range .Values.certManager.names }}\n- {{ . | quote }}\n{{- end }}",
                ),
                ("name: liqo-broker-ca-issuer", "name: {{ .Values.certManager.issuer.name }}"),
                ("kind: ClusterIssuer", "kind: {{ .Values.certManager.issuer.kind }}"),
            ],
        },
    ],
    definitions: &[("deploy/broker/crds/broker.fluidos.eu.yaml", "broker.fluidos.eu.yaml")],
};
