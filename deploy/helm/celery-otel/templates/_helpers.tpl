{{- define "celery-otel.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "celery-otel.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{/* What tells the pods of this release from all others. It never changes: a Deployment’s selector may not. */}}
{{- define "celery-otel.selectorLabels" -}}
app.kubernetes.io/name: {{ include "celery-otel.name" . }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "celery-otel.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "celery-otel.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Name, labels and annotations of an object. Takes a dict: root, and perhaps a name and annotations of its own. */}}
{{- define "celery-otel.metadata" -}}
name: {{ default (include "celery-otel.fullname" .root) .name }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "celery-otel.labels" .root | nindent 2 }}
{{- with merge (dict) (default (dict) .annotations) .root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "celery-otel.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "celery-otel.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "celery-otel.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{/* The environment. Secrets are only referred to. */}}
{{- define "celery-otel.env" -}}
{{- if or .Values.brokerUrl.value .Values.brokerUrl.existingSecret }}
- name: CELERY_BROKER_URL
  valueFrom:
    secretKeyRef:
      name: {{ ternary (include "celery-otel.fullname" .) .Values.brokerUrl.existingSecret (ne .Values.brokerUrl.value "") | quote }}
      key: {{ .Values.brokerUrl.key | quote }}
      {{- /* Not every configuration file refers to it. */}}
      {{- if .Values.config }}
      optional: true
      {{- end }}
{{- end }}
{{- if .Values.config }}
- name: OTEL_CONFIG_FILE
  value: /etc/celery-otel/celery-otel.yaml
{{- else }}
- name: OTEL_SERVICE_NAME
  value: {{ .Values.serviceName | quote }}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ .Values.otlpEndpoint | quote }}
- name: OTEL_EXPORTER_OTLP_PROTOCOL
  value: {{ .Values.otlpProtocol | quote }}
{{- end }}
{{- with .Values.otlpHeaders }}
{{- if .existingSecret }}
- name: OTEL_EXPORTER_OTLP_HEADERS
  valueFrom:
    secretKeyRef:
      name: {{ .existingSecret | quote }}
      key: {{ .key | quote }}
{{- end }}
{{- end }}
{{- if .Values.brokerPassword.existingSecret }}
- name: CELERY_OTEL_BROKER_PASSWORD_FILE
  value: /run/secrets/celery-otel/{{ .Values.brokerPassword.key }}
{{- end }}
{{- if or .Values.extraCa.existingConfigMap .Values.extraCa.existingSecret }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/celery-otel-ca/{{ .Values.extraCa.key }}
{{- end }}
{{- /* The image sets it; empty, it is not set. */}}
- name: CELERY_OTEL_STATUS_ADDRESS
  value: {{ ternary (printf "0.0.0.0:%d" (int .Values.status.port)) "" .Values.status.enabled | quote }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}
