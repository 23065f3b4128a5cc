{{- /* The same file in the charts of both programs. */ -}}

{{- define "svault.service" -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ include "svault.fullname" . }}
  labels:
    {{- include "svault.labels" . | nindent 4 }}
spec:
  selector:
    {{- include "svault.selectorLabels" . | nindent 4 }}
    app.kubernetes.io/component: server
  ports:
    - { name: http, port: 80, targetPort: http, protocol: TCP }
    {{- if .Values.metrics.enabled }}
    - { name: metrics, port: {{ .Values.metrics.port }}, targetPort: metrics, protocol: TCP }
    {{- end }}
{{- end -}}

{{- /* Takes the values and the public address: { root, url }. */ -}}
{{- define "svault.routes" -}}
{{- $root := .root -}}
{{- with .root.Values -}}
{{- $host := (urlParse $.url).hostname -}}
{{- if and .ingress.enabled .httpRoute.enabled -}}
{{- fail "ingress.enabled and httpRoute.enabled: choose one" -}}
{{- end -}}
{{- if .ingress.enabled -}}
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: {{ include "svault.fullname" $root }}
  labels:
    {{- include "svault.labels" $root | nindent 4 }}
  {{- with .ingress.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with .ingress.className }}
  ingressClassName: {{ . }}
  {{- end }}
  {{- with .ingress.tlsSecret }}
  tls:
    - hosts: [{{ $host | quote }}]
      secretName: {{ . }}
  {{- end }}
  rules:
    - host: {{ $host | quote }}
      http:
        paths:
          - path: /
            pathType: Prefix
            backend:
              service:
                name: {{ include "svault.fullname" $root }}
                port: { name: http }
{{- else if .httpRoute.enabled -}}
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  name: {{ include "svault.fullname" $root }}
  labels:
    {{- include "svault.labels" $root | nindent 4 }}
  {{- with .httpRoute.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  parentRefs:
    {{- toYaml .httpRoute.parentRefs | nindent 4 }}
  hostnames: [{{ $host | quote }}]
  rules:
    - matches:
        - path: { type: PathPrefix, value: / }
      # Event streams stay open.
      timeouts: { request: 0s }
      backendRefs:
        - name: {{ include "svault.fullname" $root }}
          port: 80
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "svault.serviceMonitor" -}}
{{- if .Values.metrics.serviceMonitor.enabled -}}
{{- if not .Values.metrics.enabled -}}
{{- fail "metrics.serviceMonitor.enabled needs metrics.enabled" -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled (not .Values.networkPolicy.metricsFrom) -}}
{{- fail "metrics.serviceMonitor.enabled: name Prometheus in networkPolicy.metricsFrom, or set networkPolicy.enabled=false" -}}
{{- end -}}
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata:
  name: {{ include "svault.fullname" . }}
  labels:
    {{- include "svault.labels" . | nindent 4 }}
    {{- with .Values.metrics.serviceMonitor.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  # The alert rules name the jobs by the program, whatever the release is called.
  jobLabel: app.kubernetes.io/name
  selector:
    matchLabels:
      {{- include "svault.selectorLabels" . | nindent 6 }}
  endpoints:
    - port: metrics
      interval: {{ .Values.metrics.serviceMonitor.interval }}
{{- end -}}
{{- end -}}

{{- /* Takes { root, egress }, the rules of egress that only this program needs. */ -}}
{{- define "svault.networkPolicy" -}}
{{- $root := .root -}}
{{- $egress := .egress -}}
{{- with .root.Values -}}
{{- if .networkPolicy.enabled -}}
{{- if not .networkPolicy.ingressFrom -}}
{{- fail "networkPolicy.ingressFrom: name who may connect, such as the namespace of the ingress controller, or set networkPolicy.enabled=false" -}}
{{- end -}}
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ include "svault.fullname" $root }}
  labels:
    {{- include "svault.labels" $root | nindent 4 }}
spec:
  podSelector:
    matchLabels:
      {{- include "svault.selectorLabels" $root | nindent 6 }}
      app.kubernetes.io/component: server
  policyTypes: [Ingress, Egress]
  ingress:
    - from:
        {{- toYaml .networkPolicy.ingressFrom | nindent 8 }}
      ports:
        - { protocol: TCP, port: http }
    {{- if and .metrics.enabled .networkPolicy.metricsFrom }}
    - from:
        {{- toYaml .networkPolicy.metricsFrom | nindent 8 }}
      ports:
        - { protocol: TCP, port: metrics }
    {{- end }}
  egress:
    - to:
        {{- toYaml .networkPolicy.dnsTo | nindent 8 }}
      ports:
        - { protocol: UDP, port: 53 }
        - { protocol: TCP, port: 53 }
    # Public addresses alone; the program keeps to that by itself as well.
    - to:
        - ipBlock:
            cidr: 0.0.0.0/0
            except: [10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, 192.168.0.0/16]
        - ipBlock:
            cidr: ::/0
            except: ['::1/128', 'fc00::/7', 'fe80::/10']
      ports:
        {{- range .networkPolicy.publicPorts }}
        - { protocol: TCP, port: {{ . }} }
        {{- end }}
    {{- with $egress }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- with .networkPolicy.extraEgress }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}
{{- end -}}
{{- end -}}
