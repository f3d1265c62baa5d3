package scaffold_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/scaffold"
)

func TestWatchedKindsAreParsed(t *testing.T) {
	for text, want := range map[string]scaffold.Watched{
		"ConfigMap":             {Version: "v1", Kind: "ConfigMap"},
		"core/Secret":           {Version: "v1", Kind: "Secret"},
		"apps/Deployment":       {Group: "apps", Version: "v1", Kind: "Deployment"},
		"example.com/v2/Widget": {Group: "example.com", Version: "v2", Kind: "Widget"},
	} {
		if got, err := scaffold.ParseWatched(text); err != nil || got != want {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"example.com/Widget":    "its version is needed",
		"a/b/c/D":               "want GROUP/KIND",
		"example.com/v1/widget": "want a kind",
		"example.com/1/Widget":  "want a version",
		"A_b/v1/Widget":         "not the name of an API group",
	} {
		if _, err := scaffold.ParseWatched(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got the error %v, want %q", text, err, want)
		}
	}
	watched := scaffold.Watched{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"}
	if watched.GoName() != "CertManagerCertificate" || watched.SourceName() != "cert-manager-certificate" {
		t.Errorf("the names are %s and %s", watched.GoName(), watched.SourceName())
	}
	if name := (scaffold.Watched{Version: "v1", Kind: "ConfigMap"}).SourceName(); name != "configmap" {
		t.Errorf("the name is %s", name)
	}
}

func TestAProjectHasTheRightsAndFilesOfItsWatchesAndItsClient(t *testing.T) {
	o := shop()
	o.Resource, o.Client, o.Watched = "boutiques", true, []scaffold.Watched{{Group: "batch", Version: "v1", Kind: "Job"}}
	project, err := scaffold.New(t.Context(), scaffold.Request{Options: o})
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range project.Files {
		files[f.Path] = string(f.Content)
	}
	for file, want := range map[string]string{
		"api/v1alpha1/types.go":       "resource:path=boutiques,singular=shop",
		"chart/templates/rights.yaml": "resources: [boutiques/status]",
		"chart/rights.yaml":           "- batch\n  resources:\n  - jobs\n  verbs:\n  - get\n  - list\n  - watch\n",
		"client/client.go":            `"boutiques", c.rest`,
		"test/client_test.go":         "componentclient.New",
		"internal/operator/watches.go": "BatchJob: related(\"batch-job\", schema.GroupVersionKind{Group: \"batch\", " +
			"Version: \"v1\", Kind: \"Job\"}, hasLabel, componentsOfBatchJob, partOfBatchJob)",
		"internal/operator/operator.go": "eventSources.addTo(reconciler)",
		".fairlead/scaffold.yaml":       "plural: boutiques",
	} {
		if !strings.Contains(files[file], want) {
			t.Errorf("%s does not contain %q:\n%s", file, want, files[file])
		}
	}
	plain, err := scaffold.New(t.Context(), scaffold.Request{Options: shop()})
	if err != nil {
		t.Fatal(err)
	}
	if len(project.Files)-len(plain.Files) != 4 {
		t.Errorf("the project has %d files, and %d without these options", len(project.Files), len(plain.Files))
	}
}
