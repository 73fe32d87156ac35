{{- define "celery-otel.volumeMounts" -}}
{{- if .Values.config }}
- name: config
  mountPath: /etc/celery-otel
  readOnly: true
{{- end }}
{{- /* Whole folders: Kubernetes does not update single files when a Secret changes. */}}
{{- if .Values.brokerPassword.existingSecret }}
- name: broker-password
  mountPath: /run/secrets/celery-otel
  readOnly: true
{{- end }}
{{- if or .Values.extraCa.existingConfigMap .Values.extraCa.existingSecret }}
- name: extra-ca
  mountPath: /etc/celery-otel-ca
  readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "celery-otel.volumes" -}}
{{- if .Values.config }}
- name: config
  configMap:
    name: {{ include "celery-otel.fullname" . }}
{{- end }}
{{- with .Values.brokerPassword }}
{{- if .existingSecret }}
- name: broker-password
  secret:
    secretName: {{ .existingSecret | quote }}
    defaultMode: 0440
    items:
      - { key: {{ .key | quote }}, path: {{ .key | quote }} }
{{- end }}
{{- end }}
{{- with .Values.extraCa }}
{{- if .existingConfigMap }}
- name: extra-ca
  configMap:
    name: {{ .existingConfigMap | quote }}
    items:
      - { key: {{ .key | quote }}, path: {{ .key | quote }} }
{{- else if .existingSecret }}
- name: extra-ca
  secret:
    secretName: {{ .existingSecret | quote }}
    items:
      - { key: {{ .key | quote }}, path: {{ .key | quote }} }
{{- end }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}
