package applier

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-io/fairlead/pkg/component/internal/apiservertest"
	"github.com/fairlead-io/fairlead/pkg/component/internal/outcome"
)

// answerDryRuns makes the API server answer the dry runs of an object with an error.
func (c *cluster) answerDryRuns(name string, err error) {
	c.refuse(func(r apiservertest.Request) error {
		if r.DryRun && strings.HasSuffix(r.Path, "/"+name) {
			return err
		}
		return nil
	})
}

func TestNothingIsWrittenIfADryRunConfirmsAFault(t *testing.T) {
	configMaps := corev1.Resource("configmaps")
	for _, c := range []struct {
		name   string
		answer error
		held   bool
	}{
		{
			"the API server refuses the manifest",
			apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("ConfigMap").GroupKind(), "bad",
				field.ErrorList{field.Invalid(field.NewPath("metadata", "labels"), "b c", "no spaces")}), true,
		},
		{"the API server accepts the manifest", nil, false},
		{"the caller may not make the dry run", apierrors.NewForbidden(configMaps, "bad", nil), false},
		{
			"a webhook supports no dry runs",
			apierrors.NewBadRequest("admission webhook \"a.b\" does not support dry run"), false,
		},
		{
			"a webhook refuses the object",
			apierrors.NewBadRequest("admission webhook \"a.b\" denied the request: no"), false,
		},
		{"the object exists", apierrors.NewAlreadyExists(configMaps, "bad"), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			cs := newCluster(t)
			bad := configMap("bad", "1")
			bad.SetLabels(map[string]string{"a": "b c"})
			cs.desire(configMap("good", "0"), bad)
			cs.answerDryRuns("bad", c.answer)
			o := cs.apply()
			if o.Held != c.held {
				t.Errorf("the set is held: %t, want %t", o.Held, c.held)
			}
			if !c.held {
				return
			}
			if got := cs.took(); strings.Contains(got, "PATCH good") || strings.Contains(got, "record") {
				t.Errorf("a set that is refused is written: %s", got)
			}
			failed := slices.IndexFunc(o.Waiting, func(w outcome.Waiting) bool { return w.Terminal })
			if len(o.Waiting) != 1 || failed != 0 || !strings.Contains(o.Waiting[0].Message, "metadata.labels") || o.Applied {
				t.Errorf("the outcome must have one failure, got %+v", o)
			}
		})
	}
}
