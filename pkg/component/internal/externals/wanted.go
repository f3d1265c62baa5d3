package externals

import (
	"encoding/json"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/component/external"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/generator"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// wanted is what the last pass wants of an external, and what it gives to the calls.
type wanted struct {
	owner     manifests.Owner
	key       manifests.Key
	component client.Object
	// driver makes the calls; nil without a handler. account bounds them; it is zero if no call can be made yet.
	driver  external.Driver
	account accountKey
	// desired is the manifest of the apply set; nil if the external is not desired.
	desired *manifests.Object
	// contents are the contents of the references of all externals of the component.
	contents map[metav1alpha1.Reference]Content
	// unusable says why no call can be made, such as a missing reference.
	unusable *plan.Failure
	// knownID is the id that the manifest names, or the id that the kind knows before.
	knownID string
}

// info describes the kind. It is empty without a driver.
func (w *wanted) info() external.Info {
	if w.driver == nil {
		return external.Info{}
	}
	return w.driver.Info()
}

// width returns the width of the window of a call: its time-out, or the time for which it may wait if the limits permit
// only few calls.
func (w *wanted) width() time.Duration {
	info := w.info()
	if info.Rate <= 0 {
		return info.Timeout
	}
	return max(info.Timeout, time.Duration(min(2/info.Rate, time.Hour.Seconds())*float64(time.Second)))
}

// manifest returns the desired manifest, or nil.
func (w *wanted) manifest() map[string]any { return manifestOf(w.desired) }

func manifestOf(o *manifests.Object) map[string]any {
	if o == nil {
		return nil
	}
	whole, err := o.Whole()
	if err != nil {
		return nil
	}
	return whole.Body.Object
}

// hasHoles reports whether the holes of the desired manifest are not filled, because no pass has bound values yet.
func (w *wanted) hasHoles() bool {
	return w.desired != nil && w.desired.Settings.Binds() && !isBound(w.desired)
}

// isBound reports whether the holes of a manifest are filled. A manifest without holes is not bound.
func isBound(o *manifests.Object) bool { return digests.Template(o.Digest) != o.Digest }

// externalID returns the id that the desired manifest names, or an empty text.
func (w *wanted) externalID() string {
	if w.desired == nil {
		return ""
	}
	return w.desired.Settings.ExternalID()
}

// credentials returns the references that the driver itself needs.
func (w *wanted) credentials() []metav1alpha1.Reference {
	referrer, ok := w.driver.(external.Referrer)
	if !ok {
		return nil
	}
	var refs []metav1alpha1.Reference
	for _, ref := range referrer.References() {
		refs = append(refs, metav1alpha1.Reference{Kind: ref.Kind, Name: ref.Name, Credential: true})
	}
	return refs
}

// referencesIn returns the references that a manifest names.
func referencesIn(manifest map[string]any) []metav1alpha1.Reference {
	refs, _ := settingtext.ExternalReferences(&unstructured.Unstructured{Object: manifest})
	return refs
}

// referencesOf returns the references that the calls with a manifest need.
func (w *wanted) referencesOf(manifest map[string]any) []metav1alpha1.Reference {
	refs := referencesIn(manifest)
	for _, ref := range w.credentials() {
		if !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// toRecord returns a manifest as it is stored, and the references of its calls.
func (w *wanted) toRecord(o *manifests.Object) (json.RawMessage, []metav1alpha1.Reference) {
	manifest := manifestOf(o)
	text, err := json.Marshal(manifest)
	if err != nil || manifest == nil {
		return nil, nil
	}
	return text, w.referencesOf(manifest)
}

func (w *wanted) contentsOf(refs []metav1alpha1.Reference) generator.References {
	if len(refs) == 0 {
		return nil
	}
	found := generator.References{}
	for _, ref := range refs {
		if content, known := w.contents[ref]; known && content.Missing == "" {
			found[generator.Reference{Kind: ref.Kind, Namespace: w.owner.Namespace, Name: ref.Name}] = content.Data
		}
	}
	return found
}

func (w *wanted) missing(refs []metav1alpha1.Reference) []string {
	var missing []string
	for _, ref := range refs {
		if content, known := w.contents[ref]; !known || content.Missing != "" {
			missing = append(missing, content.Missing)
		}
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}

// spec returns the spec in a manifest as JSON.
func spec(manifest map[string]any) json.RawMessage {
	value, found := manifest["spec"]
	data, err := json.Marshal(value)
	if err != nil || !found {
		return json.RawMessage("{}")
	}
	return data
}
