package generatortest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/internal/validate"
	"github.com/fairlead-io/fairlead/internal/validate/builtin"
	"github.com/fairlead-io/fairlead/pkg/internal/externalkinds"
	"github.com/fairlead-io/fairlead/pkg/manifests"
	"github.com/fairlead-io/fairlead/pkg/manifests/normalise"
)

// unnamed is the name of the reconciler if the options have none. Then no object has settings.
const unnamed = "unnamed.invalid"

// valid checks the rules for each object, the number of objects, and the set as a reconciler does.
func (s subject) valid(objects []client.Object) []error {
	if len(objects) > s.options.MaxObjects {
		return []error{
			fmt.Errorf("the generator returned %d objects, more than the limit of %d", len(objects), s.options.MaxObjects),
		}
	}
	var errs []error
	var set []*unstructured.Unstructured
	for i, object := range objects {
		if object == nil {
			errs = append(errs, fmt.Errorf("object %d is nil", i+1))
			continue
		}
		manifest, err := asManifest(object)
		if err != nil {
			errs = append(errs, fmt.Errorf("object %d, a %T called %q: %w; set apiVersion and kind",
				i+1, object, object.GetName(), err))
			continue
		}
		if manifest.GetName() == "" {
			errs = append(errs, fmt.Errorf("object %d, a %s, has no name", i+1, manifest.GetKind()))
		}
		if s.options.Reconciler == "" {
			errs = append(errs, unexpectedSettings(manifest)...)
		}
		set = append(set, manifest)
	}
	if len(errs) > 0 {
		return errs
	}
	return s.accepted(set)
}

// unexpectedSettings returns an error for each annotation of a manifest that is a setting for some reconciler.
func unexpectedSettings(manifest *unstructured.Unstructured) []error {
	var errs []error
	for key := range manifest.GetAnnotations() {
		prefix, name, _ := strings.Cut(key, "/")
		if slices.Contains(settingtext.Names(), name) {
			errs = append(errs, fmt.Errorf("%s %s: annotation %s is a setting if the reconciler is called %s; "+
				"set Options.Reconciler, so that settings are checked", manifest.GetKind(), manifest.GetName(), key, prefix))
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errs
}

// accepted returns an error for each part of a set that the reconciler or an API server would refuse.
func (s subject) accepted(set []*unstructured.Unstructured) []error {
	reconciler := cmp.Or(s.options.Reconciler, unnamed)
	objects, err := normalise.Manifests(set, normalise.Options{
		Reconciler: reconciler, Namespace: s.request.Namespace, ScopeOf: builtin.ScopeOf,
		Owner: manifests.Owner{Reconciler: reconciler, Namespace: s.request.Namespace, Name: s.request.Name},
		// A list that is nil would permit every name.
		Conditions:    append([]string{}, s.options.Conditions...),
		CheckExternal: externalkinds.Check(s.request.Component, s.options.Externals),
	})
	if err != nil {
		return []error{err}
	}
	invalid, err := validate.Set(objects, builtin.Types())
	if err != nil {
		return []error{err}
	}
	var errs []error
	for _, kind := range builtin.Misspelt(objects) {
		errs = append(errs, fmt.Errorf("no kind %s in Kubernetes; correct apiVersion and kind", kind))
	}
	for _, i := range invalid {
		for _, f := range i.Faults {
			errs = append(errs, fmt.Errorf("%s: an API server would refuse it: %s", i.Object.Key, f))
		}
	}
	return errs
}

func asManifest(object client.Object) (*unstructured.Unstructured, error) {
	manifest, err := manifests.ToUnstructured(object, func(o runtime.Object) (schema.GroupVersionKind, error) {
		return apiutil.GVKForObject(o, clientgoscheme.Scheme)
	})
	switch {
	case err != nil:
		return nil, err
	case manifest.GetAPIVersion() == "", manifest.GetKind() == "":
		return nil, errors.New("the object has no apiVersion and kind")
	}
	return manifest, nil
}
