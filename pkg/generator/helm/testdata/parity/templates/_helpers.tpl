{{ define "shared" }}the top's {{ .Chart.Name }}{{ end }}
