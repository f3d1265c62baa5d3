package inspect

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/expression"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/component/internal/plan"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Exports returns the values that a live object exports, by the reconciler's annotation on it. The result is nil if the
// object has no such annotation. In a watch they are unread if the evaluation takes too long; then a pass reads the
// object. An unreadable annotation counts as missing, because it is drift: another client changed it, and a later pass
// repairs it.
func (v View) Exports(ctx context.Context, obj *unstructured.Unstructured) *plan.Exports {
	text, ok := obj.GetAnnotations()[v.Reconciler+"/"+manifests.AnnotationExport]
	if !ok {
		return nil
	}
	end, ok := v.Allowance.take(obj, v.Reconciler)
	if !ok {
		return plan.UnreadExports()
	}
	defer end()
	exports, err := settingtext.ParseExports(text)
	if err != nil {
		return nil
	}
	values, interrupted := exportsOf(ctx, obj, exports)
	if interrupted && v.Allowance != nil {
		return plan.UnreadExports()
	}
	return values
}

// exportsOf evaluates exports. interrupted is set if an evaluation was ended because of its time.
func exportsOf(
	ctx context.Context, obj *unstructured.Unstructured, exports []manifests.Export,
) (result *plan.Exports, interrupted bool) {
	values, failures := map[string]any{}, map[string]plan.ExportFailure{}
	secret := obj.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Secret"}
	self := obj.Object
	if secret {
		self = withTexts(obj)
	}
	size := 0
	for _, e := range exports {
		value, failure, ended := export(ctx, self, e)
		interrupted = interrupted || ended
		switch data, err := json.Marshal(value); {
		case failure != nil && secret && !failure.Missing:
			failures[e.Name] = plan.ExportFailure{
				Message: "the expression failed; the reason may contain values of the Secret, and is not shown",
			}
		case failure != nil:
			failures[e.Name] = *failure
		case err != nil:
			failures[e.Name] = plan.ExportFailure{Message: "the value cannot be written as JSON"}
		case size+len(data) > settingtext.MaxExportedSize:
			failures[e.Name] = plan.ExportFailure{
				Message: fmt.Sprintf(
					"the exported values of the object have together more than %d bytes",
					settingtext.MaxExportedSize,
				),
			}
		default:
			size += len(data)
			values[e.Name] = value
		}
	}
	return plan.NewExports(values, failures), interrupted
}

// export evaluates an export. A missing field and null are no values yet.
func export(
	ctx context.Context, self map[string]any, e manifests.Export,
) (value any, failure *plan.ExportFailure, interrupted bool) {
	program, err := expression.Compile(e.Expression, settingtext.ExportScope)
	if err != nil {
		return nil, &plan.ExportFailure{Message: err.Error()}, false
	}
	value, err = program.Value(ctx, map[string]any{"self": self})
	switch {
	case expression.IsMissing(err):
		return nil, &plan.ExportFailure{Message: fmt.Sprintf("the object has no %s yet", program), Missing: true}, false
	case err != nil:
		return nil, &plan.ExportFailure{Message: err.Error()}, expression.IsInterrupted(err)
	case value == nil:
		return nil, &plan.ExportFailure{Message: fmt.Sprintf("%s is null", program), Missing: true}, false
	}
	return value, nil, false
}

// withTexts returns a Secret with the decoded texts of its data as stringData, as manifests have them. Data that is no
// text is left out.
func withTexts(secret *unstructured.Unstructured) map[string]any {
	data, _ := secret.Object["data"].(map[string]any)
	texts := make(map[string]any, len(data))
	for key, value := range data {
		encoded, _ := value.(string)
		if plain, err := base64.StdEncoding.DecodeString(encoded); err == nil && utf8.Valid(plain) {
			texts[key] = string(plain)
		}
	}
	self := maps.Clone(secret.Object)
	self["stringData"] = texts
	return self
}

// WithSettings returns a copy of a live object with the settings of a manifest in place of its own. The manifest of an
// observed object is never written, so the live object does not have its settings.
func WithSettings(
	live *unstructured.Unstructured,
	manifest *unstructured.Unstructured,
	reconciler string,
) *unstructured.Unstructured {
	copied := &unstructured.Unstructured{Object: maps.Clone(live.Object)}
	annotations := map[string]string{}
	for key, value := range live.GetAnnotations() {
		name, ours := strings.CutPrefix(key, reconciler+"/")
		if !ours || name == manifests.AnnotationOwnerID || name == marks.AnnotationDigest ||
			name == marks.AnnotationObject {
			annotations[key] = value
		}
	}
	for key, value := range manifest.GetAnnotations() {
		if strings.HasPrefix(key, reconciler+"/") {
			annotations[key] = value
		}
	}
	metadata, _ := live.Object["metadata"].(map[string]any)
	copied.Object["metadata"] = maps.Clone(metadata)
	copied.SetAnnotations(annotations)
	return copied
}
