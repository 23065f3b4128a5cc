{{- /* The same file in the charts of both programs. */ -}}

{{- define "svault.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "svault.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "svault.labels" -}}
{{ include "svault.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: svault
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "svault.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (include "svault.fullname" .) -}}
{{- end -}}

{{- define "svault.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- /* What a pod of this program has, whatever it runs. */ -}}
{{- define "svault.podSpec" -}}
serviceAccountName: {{ include "svault.serviceAccountName" . }}
automountServiceAccountToken: false
# A Service called `sv` would set variables that the program rejects as unknown settings.
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  # The program makes its folders for its user alone; they stay so.
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "svault.containerSecurityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "svault.probes" -}}
startupProbe:
  httpGet: { path: /healthz, port: http }
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: { path: /healthz, port: http }
  periodSeconds: 10
  timeoutSeconds: 5
readinessProbe:
  httpGet: { path: /readyz, port: http }
  periodSeconds: 2
  timeoutSeconds: 5
  failureThreshold: 2
{{- end -}}

{{- /* `env` of both programs: secrets by file, then what the values say. */ -}}
{{- define "svault.commonEnv" -}}
- name: SV_DRAIN_SECONDS
  value: {{ .Values.drainSeconds | quote }}
{{- range $name, $from := .Values.secretFiles }}
- name: {{ $name }}_FILE
  value: /etc/svault/secrets/{{ $name }}
{{- end }}
{{- if .Values.metrics.enabled }}
- name: SV_METRICS_LISTEN
  value: 0.0.0.0:{{ .Values.metrics.port }}
{{- end }}
{{- if .Values.caCertificates.configMap }}
- name: NODE_EXTRA_CA_CERTS
  value: /etc/svault/authorities/{{ .Values.caCertificates.key }}
{{- end }}
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  value: {{ (kindIs "string" $value | ternary $value (int64 $value)) | quote }}
{{- end }}
{{- end -}}

{{- define "svault.volumeMounts" -}}
- { name: tmp, mountPath: /tmp }
- { name: secrets, mountPath: /etc/svault/secrets, readOnly: true }
{{- if .Values.caCertificates.configMap }}
- { name: authorities, mountPath: /etc/svault/authorities, readOnly: true }
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "svault.volumes" -}}
- name: tmp
  emptyDir: { sizeLimit: 64Mi }
- name: secrets
  projected:
    defaultMode: 0440
    sources:
      {{- range $name, $from := .Values.secretFiles }}
      - secret:
          name: {{ $from.secret }}
          items:
            - { key: {{ $from.key | quote }}, path: {{ $name }} }
      {{- end }}
{{- if .Values.caCertificates.configMap }}
- name: authorities
  configMap:
    name: {{ .Values.caCertificates.configMap }}
    items:
      - { key: {{ .Values.caCertificates.key | quote }}, path: {{ .Values.caCertificates.key | quote }} }
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "svault.serviceAccount" -}}
{{- if not .Values.serviceAccount.name -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "svault.fullname" . }}
  labels:
    {{- include "svault.labels" . | nindent 4 }}
  {{- with .Values.serviceAccount.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
automountServiceAccountToken: false
{{- end -}}
{{- end -}}
