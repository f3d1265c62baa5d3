package reference_test

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/reference"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func constants(t *testing.T, path string) []reference.Constant {
	t.Helper()
	found, err := reference.Constants(filepath.Join(reference.Root(t), filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestReferenceOfComponent(t *testing.T) {
	schema, err := reference.Schema(filepath.Join(reference.Root(t), "config", "crd", "fairlead.io_components.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	header := []string{"field", "type", "meaning"}
	spec, status := schema.Properties["spec"], schema.Properties["status"]
	reference.Check(t, "component.md", "# Fields of a Component\n\n"+
		"`apiVersion: fairlead.io/v1alpha1`, `kind: Component`. [The Component](../component.md) explains the fields.\n"+
		"`kubectl explain component.spec` shows them, too.\n\n## Spec\n\n"+reference.Table(header,
		reference.Fields(&spec, "spec."))+
		"\n## Status\n\nOperators that are built with the library have the same fields in their status.\n\n"+
		reference.Table(header, reference.Fields(&status, "status.")))
}

func TestReferenceOfConditions(t *testing.T) {
	found := constants(t, "api/meta/v1alpha1/status.go")
	reference.Check(t, "conditions.md", "# Conditions, reasons and states\n\n"+
		"The ready-made operator and operators that are built with the library have the same values. States and "+
		"reasons are\n"+
		"open: a later version may add values.\n\n## Conditions\n\n"+reference.Table([]string{"condition", "meaning"},
		reference.Rows(found, "Condition"))+
		"\n## Reasons\n\n"+reference.Table([]string{"reason", "meaning"}, reference.Rows(found, "Reason"))+
		"\n## States\n\n`status.state` summarises the conditions in one word.\n\n"+reference.Table([]string{
		"state",
		"meaning",
	}, reference.Rows(found, "State")))
}

// values contains the settings whose values are constants, with the prefix of the constants' names.
var values = []struct{ setting, prefix string }{
	{manifests.AnnotationReconcilePolicy, "Reconcile"},
	{manifests.AnnotationUpdatePolicy, "Update"},
	{manifests.AnnotationAdoptionPolicy, "Adopt"},
	{manifests.AnnotationDeletePolicy, "Delete"},
	{manifests.AnnotationPrunePolicy, "Prune"},
}

func TestReferenceOfSettings(t *testing.T) {
	settings := constants(t, "pkg/manifests/settings.go")
	var out strings.Builder
	out.WriteString("# Settings of dependents\n\nSettings are annotations on manifests. Their prefix is the " +
		"reconciler's name and a slash, such as\n" +
		"`fairlead.io/order` for the ready-made operator. All are optional, and unknown ones are refused.\n" +
		"[Settings of dependents](../dependents/settings.md) explains them.\n\n")
	out.WriteString(reference.Table([]string{"annotation", "meaning"}, reference.Rows(settings, "Annotation")))
	policies := constants(t, "api/meta/v1alpha1/policies.go")
	for _, v := range values {
		out.WriteString("\n## `" + v.setting + "`\n\n" +
			reference.Table([]string{"value", "meaning"}, reference.Rows(policies, v.prefix)))
	}
	out.WriteString("\n## Metadata that the reconciler writes\n\nThese keys have the same prefix. Manifests must not " +
		"set them.\n\n")
	marks := slices.DeleteFunc(
		slices.Concat(constants(t, "pkg/manifests/owner.go"), constants(t, "internal/marks/marks.go")),
		func(c reference.Constant) bool { return c.Name == "LabelHeld" }, // A label of Secrets of the reconciler itself.
	)
	out.WriteString(reference.Table([]string{"key", "meaning"}, reference.Rows(marks, "")))
	reference.Check(t, "settings.md", out.String())
}

// TestTheParserAcceptsTheListedSettings parses each listed setting alone, and each listed value of a policy. A setting
// that is refused alone says so on the page.
func TestTheParserAcceptsTheListedSettings(t *testing.T) {
	parse := func(setting, value string) error {
		_, err := settingtext.Parse("fairlead.io", map[string]string{"fairlead.io/" + setting: value})
		return err
	}
	examples := map[string]string{
		manifests.AnnotationPurgeFailed: "true", manifests.AnnotationIgnore: "spec.replicas",
		manifests.AnnotationReapplyInterval: "30m", manifests.AnnotationTimeout: "5m",
		manifests.AnnotationStatusHint: "conditions=A;B", manifests.AnnotationPhase: "pre-delete",
		manifests.AnnotationIncludeWhen: "parameters.a", manifests.AnnotationActiveWhen: `served("Kind.group")`,
		manifests.AnnotationDependsOn:      "StatefulSet.apps db, Job.batch shop/migrate?, @schema",
		manifests.AnnotationDependsOnGroup: "schema", manifests.AnnotationDependsOnTimeout: "5m",
		manifests.AnnotationReadyWhen: `self.status.phase == "Bound"`, manifests.AnnotationExport: "host=self.status.host",
		manifests.AnnotationGoneWhen: `self.status.phase == "Released"`, manifests.AnnotationBind: "true",
		manifests.AnnotationExternalID: "4711",
	}
	policies := constants(t, "api/meta/v1alpha1/policies.go")
	for _, v := range values {
		for _, c := range policies {
			if !strings.HasPrefix(c.Name, v.prefix) {
				continue
			}
			examples[v.setting] = c.Value
			if err := parse(v.setting, c.Value); err != nil {
				t.Error(err)
			}
		}
	}
	for _, c := range constants(t, "pkg/manifests/settings.go") {
		err := parse(c.Value, cmp.Or(examples[c.Value], "1"))
		if conditional := strings.Contains(c.Meaning, "refused"); (err != nil) != conditional {
			t.Errorf("%s is refused alone: %v; its comment says so: %v", c.Value, err, conditional)
		}
	}
}
