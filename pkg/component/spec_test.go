package component

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/components"
	"github.com/fairlead-io/fairlead/pkg/component/internal/reconcile"
)

// crate is a component whose spec consists of parts.
type crate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitzero"`
	Spec              crateSpec           `json:"spec"`
	Status            metav1alpha1.Status `json:"status,omitzero"`
}

type crateSpec struct {
	commonSpec                 `json:",inline"`
	metav1alpha1.PlacementSpec `json:",inline"`
	metav1alpha1.SuspendSpec   `json:",inline"`
	metav1alpha1.ResyncSpec    `json:",inline"`
	Size                       string `json:"size,omitempty"`
}

// commonSpec is a part of the author's own, which embeds parts.
type commonSpec struct {
	metav1alpha1.TimeoutSpec  `json:",inline"`
	metav1alpha1.PoliciesSpec `json:",inline"`
	Owner                     string `json:"owner,omitempty"`
}

func (c *crate) GetParameters() (map[string]any, error) {
	return map[string]any{"size": c.Spec.Size}, nil
}
func (c *crate) GetStatus() *metav1alpha1.Status { return &c.Status }
func (c *crate) GetSpec() any                    { return &c.Spec }
func (c *crate) DeepCopyObject() runtime.Object  { return new(*c) }

// ResyncInterval is implemented by the component and by its spec.
func (*crate) ResyncInterval() time.Duration { return time.Hour }

func TestOptionalInterfacesAreAskedOfTheComponentAndThenOfItsSpec(t *testing.T) {
	a := author[*crate]{options: Options{Intervals: Intervals{Timeout: time.Minute}}}
	c := &crate{ObjectMeta: metav1.ObjectMeta{Namespace: "docks", Name: "tea"}}
	if in := a.Intervals(c); in.Timeout != time.Minute || in.Resync != time.Hour {
		t.Errorf("the options apply where the spec sets nothing, and the component takes precedence: %+v", in)
	}
	if d := a.Declare(c); d.Namespace != "docks" || d.Policies != (metav1alpha1.Policies{}) {
		t.Errorf("an empty spec declares %+v", d)
	}
	c.Spec.TargetNamespace, c.Spec.DeletePolicy, c.Spec.Suspend = "ships", metav1alpha1.DeleteOrphan, true
	c.Spec.TimeoutDuration = &metav1.Duration{Duration: 3 * time.Second}
	c.Spec.Interval = &metav1.Duration{Duration: time.Second}
	if in := a.Intervals(c); in.Timeout != 3*time.Second || in.Resync != time.Hour {
		t.Errorf("the intervals of the spec are %+v", in)
	}
	d, err := a.Inputs(c)
	if err != nil || d.Namespace != "ships" || d.Name != "tea" {
		t.Errorf("the inputs are %+v, %v", d, err)
	}
	if a.Declare(c).Policies.Delete != metav1alpha1.DeleteOrphan || !components.Suspended(c) {
		t.Error("the policies, or the suspension, of the spec are ignored")
	}
}

func TestPartsOfASpecAreNoInputs(t *testing.T) {
	c := &crate{Spec: crateSpec{Size: "large"}}
	c.Spec.Owner, c.Spec.TargetName = "ada", "tea"
	c.Spec.Suspend, c.Spec.UpdatePolicy = true, metav1alpha1.UpdateRecreate
	c.Spec.TimeoutDuration = &metav1.Duration{Duration: time.Second}
	got, err := renderedPart(c)
	fields, _ := got.(map[string]any)
	if err != nil || len(fields) != 3 || fields["size"] != "large" || fields["owner"] != "ada" ||
		fields["targetName"] != "tea" {
		t.Errorf("the rendered part is %v, %v", got, err)
	}
}

// freight is a component whose spec consists of the parts that crate does not have.
type freight struct {
	crate
	Spec freightSpec `json:"spec"`
}

type freightSpec struct {
	metav1alpha1.RetrySpec          `json:",inline"`
	metav1alpha1.ServiceAccountSpec `json:",inline"`
	metav1alpha1.KubeConfigSpec     `json:",inline"`
	metav1alpha1.IgnoreSpec         `json:",inline"`
	metav1alpha1.AdoptSpec          `json:",inline"`
	metav1alpha1.ManagedTypesSpec   `json:",inline"`
	metav1alpha1.ExportsSpec        `json:",inline"`
	metav1alpha1.EmptySpec          `json:",inline"`
	Size                            string `json:"size,omitempty"`
}

func (f *freight) GetParameters() (map[string]any, error) { return nil, nil }
func (f *freight) GetSpec() any                           { return &f.Spec }
func (f *freight) DeepCopyObject() runtime.Object         { return new(*f) }

func TestEachPartOfASpecDeclaresWhatItSays(t *testing.T) {
	a := author[*freight]{reconciler: "example.com", options: Options{Intervals: Intervals{Retry: time.Minute}}}
	f := &freight{}
	if d := a.Declare(f); !reflect.DeepEqual(d, reconcile.Declared{}) || a.Intervals(f).Retry != time.Minute {
		t.Errorf("an empty spec declares %+v", d)
	}
	types := []metav1alpha1.TypePattern{{Group: "example.com", Kind: "*"}}
	f.Spec = freightSpec{Size: "large"}
	f.Spec.RetryDuration = &metav1.Duration{Duration: time.Second}
	f.Spec.ServiceAccount, f.Spec.EmptyAllowed, f.Spec.ExportNames = "porter", true, []string{"color"}
	f.Spec.Target = &metav1alpha1.KubeConfigSource{SecretRef: metav1alpha1.KubeConfigKey{Name: "remote", Key: "config"}}
	f.Spec.Ignore, f.Spec.ManagedTypes = []metav1alpha1.IgnoreRule{{Paths: []string{"spec.replicas"}}}, types
	f.Spec.Adopt = []metav1alpha1.AdoptRule{}
	d := a.Declare(f)
	if d.Adopt == nil {
		t.Error("an empty list of objects to adopt must not be the same as no list")
	}
	if a.Intervals(f).Retry != time.Second || d.Target.ServiceAccount != "porter" || !d.AllowEmpty ||
		!slices.Equal(d.Exports, []string{"color"}) || !slices.Equal(d.ManagedTypes, types) {
		t.Errorf("the spec declares %+v", d)
	}
	if k := d.Target.KubeConfig; k == nil || k.Name != "remote" || k.Key != "config" {
		t.Errorf("the kubeconfig is %+v", k)
	}
	if len(d.Ignore) != 1 || !strings.Contains(d.Ignore[0].String(), "spec.replicas") {
		t.Errorf("the ignored fields are %v", d.Ignore)
	}
	got, err := renderedPart(f)
	fields, _ := got.(map[string]any)
	if err != nil || len(fields) != 2 || fields["size"] != "large" || fields["additionalManagedTypes"] == nil {
		t.Errorf("the inputs of the rendering are %v, %v", got, err)
	}
}

func TestTheFieldOfTheObjectsToAdoptIsFound(t *testing.T) {
	type named struct {
		Spec struct {
			TakeOver []metav1alpha1.AdoptRule `json:"takeOver,omitzero"`
		} `json:"spec"`
	}
	for component, want := range map[reflect.Type]string{
		reflect.TypeFor[*freight]():            "spec.adopt",
		reflect.TypeFor[*v1alpha1.Component](): "spec.adopt",
		reflect.TypeFor[*named]():              "spec.takeOver",
		reflect.TypeFor[*crate]():              "",
		reflect.TypeFor[Component]():           "",
	} {
		if got := specFieldOf(component, reflect.TypeFor[[]metav1alpha1.AdoptRule]()); got != want {
			t.Errorf("the field of %s is %q", component, got)
		}
	}
}
