package applier

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/validate"
	"github.com/fairlead-io/fairlead/pkg/component/internal/apiservertest"
	"github.com/fairlead-io/fairlead/pkg/component/internal/execute"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/manifests"
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
			badLabel, true,
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
			failed := slices.IndexFunc(o.Waiting, func(w result.Waiting) bool { return w.Terminal })
			if len(o.Waiting) != 1 || failed != 0 || !strings.Contains(o.Waiting[0].Message, "metadata.labels") || o.Applied {
				t.Errorf("the outcome must have one failure, got %+v", o)
			}
		})
	}
}

// badLabel is the refusal of a label with a space.
var badLabel = apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("ConfigMap").GroupKind(), "bad",
	field.ErrorList{field.Invalid(field.NewPath("metadata", "labels"), "b c", "no spaces")})

func TestAnInvalidObjectThatWouldBeAdoptedHoldsTheSet(t *testing.T) {
	c := newCluster(t)
	c.server.Put("v1", "ConfigMap", "shop", "bad", nil)
	c.request.Policies.Adoption = metav1alpha1.AdoptNever
	c.desire(configMap("bad", "0"))
	c.apply()
	c.request.Policies = metav1alpha1.Policies{}
	bad := configMap("bad", "0")
	bad.SetLabels(map[string]string{"a": "b c"})
	c.desire(configMap("good", "0"), bad)
	c.answerDryRuns("bad", badLabel)
	c.took()
	o := c.apply()
	if !o.Held || len(o.Waiting) != 1 || !o.Waiting[0].Terminal {
		t.Errorf("the outcome must have the refusal, got %+v", o)
	}
	// The only write is the dry run.
	if got := c.took(); strings.Contains(got, "good") || strings.Contains(got, "record") {
		t.Errorf("a set that is refused is written: %s", got)
	}
}

func TestTheRefusalOfARecreatedObjectMustHaveACauseThatTheDeletionDoesNotRemove(t *testing.T) {
	faults := []validate.Fault{{Field: "metadata.labels"}}
	for _, c := range []struct {
		name    string
		verb    plan.Verb
		refusal execute.Refusal
		want    bool
	}{
		{"a recreation with an immutable field alone", plan.VerbDelete, execute.Refusal{Immutable: true}, false},
		{
			"a recreation with an immutable field and a fault", plan.VerbDelete,
			execute.Refusal{Immutable: true, Other: true},
			true,
		},
		{"a recreation with a fault", plan.VerbDelete, execute.Refusal{Other: true}, true},
		{"an update with an immutable field", plan.VerbApply, execute.Refusal{Immutable: true}, true},
	} {
		s := suspect{action: plan.Action{Verb: c.verb}, faults: faults}
		if got := s.confirms(c.refusal); got != c.want {
			t.Errorf("%s is confirmed: %t, want %t", c.name, got, c.want)
		}
	}
}

func TestAnUpdateWithIgnoredFieldsHasNoFaults(t *testing.T) {
	c := newCluster(t)
	bad := configMap("bad", "0")
	bad.SetLabels(map[string]string{"a": "b c"})
	bad.SetAnnotations(map[string]string{reconciler + "/" + manifests.AnnotationIgnore: "data.a"})
	objects := c.normalise(bad)
	for verb, want := range map[plan.Verb]bool{plan.VerbCreate: true, plan.VerbDelete: true, plan.VerbApply: false} {
		v := validation{client: c.client, mutates: validate.Mutates(nil)}
		faults, _, err := v.check(t.Context(), plan.Action{Verb: verb, Key: objects[0].Key, Object: &objects[0]})
		if err != nil || (len(faults) > 0) != want {
			t.Errorf("%s: the faults are %v, want some: %t (%v)", verb, faults, want, err)
		}
	}
}

func TestAFaultIsConfirmedAlthoughTheNameIsTakenInTheNamespaceOfTheComponent(t *testing.T) {
	c := newCluster(t)
	c.server.Put("v1", "ConfigMap", "shop", "bad", nil)
	bad := configMap("bad", "0")
	bad.SetNamespace("later")
	bad.SetLabels(map[string]string{"a": "b c"})
	c.desire(configMap("good", "0"), bad)
	c.refuse(func(r apiservertest.Request) error {
		if r.DryRun && strings.Contains(r.Path, "/shop/") && !strings.HasSuffix(r.Path, "/bad") {
			return badLabel
		}
		return nil
	})
	if o := c.apply(); !o.Held {
		t.Errorf("the set is not held: %+v", o)
	}
}
