package normalise

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/holes"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func isExternal(body map[string]any) bool {
	return (&unstructured.Unstructured{Object: body}).GroupVersionKind().Group == manifests.ExternalGroup
}

// notExternal are the settings that have no effect on an external: it has no managed fields and no Kubernetes status,
// and the records of deletion phases contain no externals.
var notExternal = []string{
	manifests.AnnotationIgnore, manifests.AnnotationStatusHint, manifests.AnnotationPhase, manifests.AnnotationPhaseOrder,
}

// checkExternal checks the manifest of an external. It returns an error if a manifest of another group has a setting
// for externals. All errors are joined.
func (n normaliser) checkExternal(body *unstructured.Unstructured, s manifests.Settings) error {
	gvk := body.GroupVersionKind()
	if gvk.Group != manifests.ExternalGroup {
		if s.ExternalID() != "" {
			return fmt.Errorf("annotation %s/%s: only objects of the API group %s may have it",
				n.Reconciler, manifests.AnnotationExternalID, manifests.ExternalGroup)
		}
		return nil
	}
	var errs []error
	if gvk.Version != manifests.ExternalVersion {
		errs = append(errs, fmt.Errorf("apiVersion is %s; the only version is %s/%s",
			body.GetAPIVersion(), manifests.ExternalGroup, manifests.ExternalVersion))
	}
	errs = append(errs, settingtext.CheckExternalName(gvk.Kind, body.GetName()))
	for _, field := range slices.Sorted(maps.Keys(body.Object)) {
		if !slices.Contains([]string{"apiVersion", "kind", "metadata", "references", "spec"}, field) {
			errs = append(errs, fmt.Errorf("%s: an external has the fields references and spec only; remove it", field))
		}
	}
	for _, name := range notExternal {
		if _, set := body.GetAnnotations()[n.Reconciler+"/"+name]; set {
			errs = append(errs, fmt.Errorf("annotation %s/%s: has no effect on an external; remove it", n.Reconciler, name))
		}
	}
	if _, err := settingtext.ExternalReferences(body); err != nil {
		errs = append(errs, err)
	}
	if data, err := json.Marshal(body.Object); err != nil || len(data) > settingtext.MaxExternal {
		errs = append(errs, fmt.Errorf("the manifest has %d bytes as JSON; an external may have %d", len(data), settingtext.MaxExternal))
	}
	if err := errors.Join(errs...); err != nil || n.CheckExternal == nil {
		return err
	}
	return n.CheckExternal(withoutHoles(body, s))
}

// withoutHoles returns the manifest of an external with null in the place of each text of its spec that has a hole, and
// whether there is such a text.
func withoutHoles(body *unstructured.Unstructured, s manifests.Settings) (known *unstructured.Unstructured, partial bool) {
	if !s.Binds() {
		return body, false
	}
	spec, partial, err := holes.Null(body.Object["spec"])
	if err != nil || !partial {
		return body, partial
	}
	known = &unstructured.Unstructured{Object: maps.Clone(body.Object)}
	known.Object["spec"] = spec
	return known, partial
}

// checkObservedManifest returns an error if the manifest of an observed object contains fields that would not be
// written.
func checkObservedManifest(s manifests.Settings, body map[string]any) error {
	if !s.IsObserved() {
		return nil
	}
	fields := slices.DeleteFunc(slices.Sorted(maps.Keys(body)), func(field string) bool {
		return field == "apiVersion" || field == "kind" || field == "metadata" || isExternal(body)
	})
	if len(fields) == 0 {
		return nil
	}
	return fmt.Errorf(
		"it is only observed, so its manifest may have a type and metadata, but no %s; remove these fields, or "+
			"the %s",
		strings.Join(fields, ", "),
		manifests.AnnotationReconcilePolicy,
	)
}
