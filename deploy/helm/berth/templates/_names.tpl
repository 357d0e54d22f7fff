{{- define "berth.name" -}}
{{- if contains "berth" .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-berth{{ end }}
{{- end }}

{{- define "berth.selector" -}}
app.kubernetes.io/name: berth
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "berth.labels" -}}
{{ include "berth.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "berth.secret" -}}
{{ .Values.existingSecret | default (printf "%s-token" (include "berth.name" .)) }}
{{- end }}
