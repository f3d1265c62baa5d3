package lookup

import (
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
)

// Result is the result of a look-up, reduced to digests. The digests are sufficient to compare it with a later result
// of the same look-up.
type Result struct {
	key      key
	resource schema.GroupVersionResource
	state    metav1alpha1.LookupState
	version  observe.Version
	content  objectDigests
	// items are the digests of the objects in a list, by namespace and name. It is nil if the look-up was for a single
	// object.
	items map[string]item
}

// item is the digest of an object in a list.
type item struct {
	own     bool
	content objectDigests
}

// objectDigests are two digests of an object: bare without the status of the object, and whole with the status.
type objectDigests struct{ bare, whole string }

func (d objectDigests) of(status bool) string {
	if status {
		return d.whole
	}
	return d.bare
}

// digestsOf returns the digests of an object. They do not cover metadata that changes with every write, such as the
// resource version.
func digestsOf(object *unstructured.Unstructured) (objectDigests, error) {
	content := maps.Clone(object.Object)
	if metadata, ok := content["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		delete(metadata, "resourceVersion")
		delete(metadata, "managedFields")
		content["metadata"] = metadata
	}
	whole, err := digests.Of(content)
	if err != nil {
		return objectDigests{}, err
	}
	delete(content, "status")
	bare, err := digests.Of(content)
	return objectDigests{bare: bare, whole: whole}, err
}

// Owner identifies the component whose generator looks up objects. Changes of the component's own dependents and
// records are ignored.
type Owner struct {
	// Reconciler is the name of the reconciler, and ID the owner id.
	Reconciler, ID string
}

// Owns reports whether an object is a dependent or a record of the component. A copy that another client made of a
// dependent is none, because the component does not write it; see observe.OwnerOf.
func (o Owner) Owns(object *unstructured.Unstructured) bool {
	owner := observe.OwnerOf(object, o.Reconciler)
	return owner == o.ID || object.GetLabels()[o.Reconciler+"/"+records.LabelRecord] == o.ID
}

// Recognises reports whether the component owns an object, or has released it and nobody has taken it over since: no
// other component, no controller and no Helm release.
func (o Owner) Recognises(object *unstructured.Unstructured) bool {
	annotations := object.GetAnnotations()
	if owner, _ := marks.OwnerOf(object.GetLabels(), annotations, o.Reconciler, ""); owner != "" {
		return o.Owns(object)
	}
	taken := metav1.GetControllerOf(object) != nil || annotations["meta.helm.sh/release-name"] != ""
	return marks.ReleasedBy(annotations, o.Reconciler) == o.ID && !taken || o.Owns(object)
}

// identify returns the Result of a definite answer; see answer.isDefinite.
func (o Owner) identify(k key, a answer) (Result, error) {
	r := Result{key: k, resource: a.resource, state: metav1alpha1.LookupFound}
	switch {
	case a.resource.Resource == "":
		r.state = metav1alpha1.LookupUnserved
		return r, nil
	case apierrors.IsNotFound(a.err):
		r.state = metav1alpha1.LookupMissing
		return r, nil
	case k.list:
		return o.identifyList(r, a.list)
	case o.Owns(a.object):
		r.state, r.version = metav1alpha1.LookupOwn, observe.VersionOwn
		return r, nil
	}
	r.version = observe.Version(a.object.GetResourceVersion())
	var err error
	r.content, err = digestsOf(a.object)
	return r, err
}

func (o Owner) identifyList(r Result, list *unstructured.UnstructuredList) (Result, error) {
	r.items = make(map[string]item, len(list.Items))
	var sum observe.Sum
	for i := range list.Items {
		object := &list.Items[i]
		content, err := digestsOf(object)
		if err != nil {
			return r, err
		}
		listed := item{own: o.Owns(object), content: content}
		r.items[object.GetNamespace()+"/"+object.GetName()] = listed
		if !listed.own {
			sum = sum.Plus(object)
		}
	}
	r.version = sum.Version()
	var bare, whole []string
	for _, name := range slices.Sorted(maps.Keys(r.items)) {
		if listed := r.items[name]; !listed.own {
			bare, whole = append(bare, name, listed.content.bare), append(whole, name, listed.content.whole)
		}
	}
	var err error
	if r.content.bare, err = digests.Of(bare); err != nil {
		return r, err
	}
	r.content.whole, err = digests.Of(whole)
	return r, err
}

// hasStatus reports whether an object with a status was found.
func (r Result) hasStatus() bool { return r.content.bare != r.content.whole }

// equal reports whether a later look-up of the same key has the same result. An object that has become a dependent of
// the component itself is treated as unchanged.
func (r Result) equal(later Result) bool {
	if later.state == metav1alpha1.LookupOwn ||
		r.state == metav1alpha1.LookupOwn && later.state == metav1alpha1.LookupMissing {
		return true
	}
	if r.items == nil || later.items == nil {
		return r.state == later.state && r.content == later.content
	}
	return equalItems(r.items, later.items)
}

// equalItems reports whether two lists contain equal objects, apart from dependents of the component itself.
func equalItems(before, after map[string]item) bool {
	for name, is := range after {
		was, known := before[name]
		if changed := !known || was.own || was.content != is.content; changed && !is.own {
			return false
		}
	}
	for name, was := range before {
		if _, ok := after[name]; !ok && !was.own {
			return false
		}
	}
	return true
}

// reference returns the object or list to watch. served is false if the API server does not serve the type. Such a type
// cannot be watched, but the watch on the capabilities of the target reports when the type is served.
func (r Result) reference() (ref observe.Reference, served bool) {
	ref = observe.Reference{Resource: r.resource, Namespace: r.key.namespace, Name: r.key.name}
	return ref, r.resource.Resource != ""
}

// entry returns the result in the form in which the status contains it. If status is set, the recorded digest covers
// the status of the object.
func (r Result) entry(status bool) metav1alpha1.Lookup {
	entry := r.key.entry()
	entry.State = r.state
	if r.state == metav1alpha1.LookupFound {
		entry.Digest, entry.Status = r.content.of(status), status
	}
	return entry
}
