{{ define "app" }}app-{{ name }}{{ end }}
