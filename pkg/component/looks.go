package component

import (
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/discovery"
	"github.com/fairlead-io/fairlead/pkg/component/internal/observe"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// maxLookups bounds the look-ups that a status names. Past that it holds one digest of all; the component is rendered again after a restart
// then, to find out what it looks up.
const maxLookups = 100

// looks are the inputs that a rendering found in clusters.
type looks struct {
	// served identifies the capabilities of the target.
	served discovery.Summary
	// all are the look-ups, in the order of their texts.
	all []look
	// status says that the rendering reads the status of what it looked up.
	status bool
}

// look is what a look-up found, reduced to what tells it from another.
type look struct {
	key      lookupKey
	resource schema.GroupVersionResource
	state    metav1alpha1.LookupState
	version  observe.Version
	content  contentDigests
	// items are the objects of a list, by namespace and name.
	items map[string]item
}

// item is an object of a list.
type item struct {
	own     bool
	content contentDigests
}

// contentDigests identify a content without its status, and with it.
type contentDigests struct{ bare, whole string }

func (c contentDigests) of(status bool) string {
	if status {
		return c.whole
	}
	return c.bare
}

// identifyContent leaves out what changes with every write, whatever was written.
func identifyContent(object *unstructured.Unstructured) (contentDigests, error) {
	content := maps.Clone(object.Object)
	if metadata, ok := content["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		delete(metadata, "resourceVersion")
		delete(metadata, "managedFields")
		content["metadata"] = metadata
	}
	whole, err := manifests.Digest(content)
	if err != nil {
		return contentDigests{}, err
	}
	delete(content, "status")
	bare, err := manifests.Digest(content)
	return contentDigests{bare: bare, whole: whole}, err
}

// looker reduces answers to looks, for one component.
type looker struct {
	reconciler, owner string
}

func (l looker) isOwn(object *unstructured.Unstructured) bool {
	owner, _ := manifests.OwnerOf(object.GetLabels(), object.GetAnnotations(), l.reconciler, "")
	return owner == l.owner || object.GetLabels()[l.reconciler+"/"+records.LabelRecord] == l.owner
}

// look reduces a definite answer.
func (l looker) look(key lookupKey, f found) (look, error) {
	seen := look{key: key, resource: f.resource, state: metav1alpha1.LookupFound}
	switch {
	case f.resource.Resource == "":
		seen.state = metav1alpha1.LookupUnserved
		return seen, nil
	case apierrors.IsNotFound(f.err):
		seen.state = metav1alpha1.LookupMissing
		return seen, nil
	case key.list:
		return l.lookAtList(seen, f.list)
	case l.isOwn(f.object):
		seen.state, seen.version = metav1alpha1.LookupOwn, observe.VersionOwn
		return seen, nil
	}
	seen.version = observe.Version(f.object.GetResourceVersion())
	var err error
	seen.content, err = identifyContent(f.object)
	return seen, err
}

func (l looker) lookAtList(seen look, list *unstructured.UnstructuredList) (look, error) {
	seen.items = make(map[string]item, len(list.Items))
	var sum observe.Sum
	for i := range list.Items {
		object := &list.Items[i]
		content, err := identifyContent(object)
		if err != nil {
			return seen, err
		}
		found := item{own: l.isOwn(object), content: content}
		seen.items[object.GetNamespace()+"/"+object.GetName()] = found
		if !found.own {
			sum = sum.Plus(object)
		}
	}
	seen.version = sum.Version()
	var bare, whole []string
	for _, name := range slices.Sorted(maps.Keys(seen.items)) {
		if found := seen.items[name]; !found.own {
			bare, whole = append(bare, name, found.content.bare), append(whole, name, found.content.whole)
		}
	}
	var err error
	if seen.content.bare, err = manifests.Digest(bare); err != nil {
		return seen, err
	}
	seen.content.whole, err = manifests.Digest(whole)
	return seen, err
}

// hasStatus says that something was found that has a status.
func (l look) hasStatus() bool { return l.content.bare != l.content.whole }

// same says that a later look-up of the same key found the same. Whatever becomes a dependent of the component itself is as it was.
func (l look) same(later look) bool {
	if later.state == metav1alpha1.LookupOwn || l.state == metav1alpha1.LookupOwn && later.state == metav1alpha1.LookupMissing {
		return true
	}
	if l.items == nil || later.items == nil {
		return l.state == later.state && l.content == later.content
	}
	return sameItems(l.items, later.items)
}

// sameItems compares lists, but for dependents of the component itself.
func sameItems(before, after map[string]item) bool {
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

// reference returns what is watched of a look-up: of a type that nobody serves there is nothing to watch, and its coming changes what is
// served.
func (l look) reference() (observe.Reference, bool) {
	return observe.Reference{Resource: l.resource, Namespace: l.key.namespace, Name: l.key.name}, l.resource.Resource != ""
}

// looks reduces what a recorder remembers.
func (r *recorder) looks(l looker) ([]look, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]look, 0, len(r.found))
	for key, f := range r.found {
		seen, err := l.look(key, f)
		if err != nil {
			return nil, err
		}
		all = append(all, seen)
	}
	slices.SortFunc(all, func(a, b look) int { return strings.Compare(a.key.record().String(), b.key.record().String()) })
	return all, nil
}
