package scaffold

import "path"

// entry is a file of a project and its template.
type entry struct {
	path     string
	template string
}

// layout returns the files that are rendered for a project.
func layout(o Options) []entry {
	api := path.Join("api", o.Version)
	entries := []entry{
		{"go.mod", "common/go.mod.tmpl"},
		{"main.go", "common/main.go.tmpl"},
		{"Makefile", "common/Makefile.tmpl"},
		{"Dockerfile", "common/Dockerfile.tmpl"},
		{"README.md", "common/README.md.tmpl"},
		{".dockerignore", "common/dockerignore.tmpl"},
		{".gitignore", "common/gitignore.tmpl"},
		{".golangci.yml", "common/golangci.yml.tmpl"},
		{".github/workflows/ci.yaml", "common/ci.yaml.tmpl"},
		{path.Join(api, "doc.go"), "common/api/doc.go.tmpl"},
		{path.Join(api, "types.go"), "common/api/types.go.tmpl"},
		{path.Join(api, "component.go"), "common/api/component.go.tmpl"},
		{path.Join("config/samples", o.Singular()+".yaml"), "common/config/samples/sample.yaml.tmpl"},
		{"internal/operator/metrics.go", "common/internal/operator/metrics.go.tmpl"},
		{"internal/operator/operator.go", "common/internal/operator/operator.go.tmpl"},
		{"chart/Chart.yaml", "common/chart/Chart.yaml.tmpl"},
		{"chart/values.yaml", "common/chart/values.yaml.tmpl"},
		{"chart/values.schema.json", "common/chart/values.schema.json.tmpl"},
		{"chart/rights.yaml", "common/chart/rights.yaml.tmpl"},
		{"chart/templates/_helpers.tpl", "common/chart/templates/_helpers.tpl.tmpl"},
		{"chart/templates/definitions.yaml", "common/chart/templates/definitions.yaml.tmpl"},
		{"chart/templates/deployment.yaml", "common/chart/templates/deployment.yaml.tmpl"},
		{"chart/templates/disruption.yaml", "common/chart/templates/disruption.yaml.tmpl"},
		{"chart/templates/metrics.yaml", "common/chart/templates/metrics.yaml.tmpl"},
		{"chart/templates/network.yaml", "common/chart/templates/network.yaml.tmpl"},
		{"chart/templates/rights.yaml", "common/chart/templates/rights.yaml.tmpl"},
		{"chart/templates/users.yaml", "common/chart/templates/users.yaml.tmpl"},
		{"test/cluster_test.go", "common/test/cluster_test.go.tmpl"},
		{"test/metrics_test.go", "common/test/metrics_test.go.tmpl"},
		{"test/operator_test.go", "common/test/operator_test.go.tmpl"},
		{"test/process_test.go", "common/test/process_test.go.tmpl"},
		{"test/doc.go", "common/test/doc.go.tmpl"},
	}
	if !o.Free() {
		entries = append(entries, entry{path.Join(api, "values.go"), valuesTemplate(o)})
	}
	entries = append(entries, generatorLayout(o)...)
	entries = append(entries, noticeLayout(o.Notice)...)
	if o.Webhooks {
		entries = append(entries, webhookLayout()...)
	}
	if o.External != "" {
		entries = append(entries, externalLayout()...)
	}
	if o.Client {
		entries = append(entries,
			entry{"client/client.go", "client/client.go.tmpl"}, entry{"test/client_test.go", "client/client_test.go.tmpl"})
	}
	if len(o.Watched) > 0 {
		entries = append(entries,
			entry{"internal/operator/watches.go", "watches/watches.go.tmpl"},
			entry{"internal/operator/watches_test.go", "watches/watches_test.go.tmpl"})
	}
	return entries
}

func valuesTemplate(o Options) string {
	if o.Generator == GeneratorHelm {
		return "helm/api/values.go.tmpl"
	}
	return "example/api/values.go.tmpl"
}

// generatorLayout returns the files of the package generator, except for the files of a given chart or kustomization.
func generatorLayout(o Options) []entry {
	const folder = "internal/generator"
	code := entry{folder + "/generator.go", path.Join(string(o.Generator), folder, "generator.go.tmpl")}
	if o.Generator == GeneratorGo {
		return []entry{code, {folder + "/generator_test.go", "go/internal/generator/generator_test.go.tmpl"}}
	}
	entries := []entry{code, {folder + "/generator_test.go", "manifests/internal/generator/generator_test.go.tmpl"}}
	if o.Given {
		return entries
	}
	var example []string
	switch o.Generator {
	case GeneratorHelm:
		example = []string{
			"Chart.yaml", "values.yaml", "values.schema.json", "templates/_labels.tpl", "templates/page.yaml",
			"templates/web.yaml",
		}
	case GeneratorKustomize:
		example = []string{"kustomization.yaml", "web.yaml", ".fairlead-kustomize.yaml"}
	case GeneratorGoTemplate:
		example = []string{"_labels.tpl", "page.yaml", "web.yaml"}
	case GeneratorGo:
	}
	for _, file := range example {
		entries = append(entries, entry{
			path.Join(sourceFolder(o), file),
			path.Join("example", string(o.Generator), file+".tmpl"),
		})
	}
	return entries
}

// sourceFolder returns the folder of the source that the generator renders.
func sourceFolder(o Options) string {
	names := map[Generator]string{
		GeneratorHelm: "chart", GeneratorKustomize: "kustomization",
		GeneratorGoTemplate: "templates",
	}
	return path.Join("internal/generator", names[o.Generator])
}

func webhookLayout() []entry {
	return []entry{
		{"internal/webhook/webhook.go", "webhooks/webhook.go.tmpl"},
		{"internal/webhook/webhook_test.go", "webhooks/webhook_test.go.tmpl"},
		{"chart/templates/webhooks.yaml", "webhooks/webhooks.yaml.tmpl"},
		{"test/webhook_test.go", "webhooks/cluster_test.go.tmpl"},
	}
}
