{{- define "webhook.env" -}}
- name: SV_WEBHOOK_URL
  value: {{ .Values.url | quote }}
- name: SV_WEBHOOK_SERVICE_URL
  value: {{ .Values.serviceUrl | quote }}
- name: SV_WEBHOOK_LISTEN
  value: 0.0.0.0:8090
- name: SV_WEBHOOK_DATA_DIR
  value: /var/lib/svault/webhook
{{ include "svault.commonEnv" . }}
{{- end -}}

{{- define "webhook.volumeMounts" -}}
{{ include "svault.volumeMounts" . }}
- { name: data, mountPath: /var/lib/svault }
{{- end -}}

{{- define "webhook.volumes" -}}
{{ include "svault.volumes" . }}
- name: data
  persistentVolumeClaim:
    claimName: {{ .Values.persistence.existingClaim | default (printf "%s-data" (include "svault.fullname" .)) }}
{{- end -}}

{{- /* Takes { root, name, of: persistence or backup.persistence }. */ -}}
{{- define "webhook.claim" -}}
{{- if not .of.existingClaim -}}
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: {{ include "svault.fullname" .root }}-{{ .name }}
  labels:
    {{- include "svault.labels" .root | nindent 4 }}
  annotations:
    # `helm uninstall` deletes no credentials.
    helm.sh/resource-policy: keep
spec:
  accessModes: [ReadWriteOnce]
  {{- with .of.storageClass }}
  storageClassName: {{ . }}
  {{- end }}
  resources:
    requests:
      storage: {{ .of.size }}
{{- end -}}
{{- end -}}
