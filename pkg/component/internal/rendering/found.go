package rendering

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/determinism"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// unprovenRecord begins a text about values of a record that nothing proves.
const unprovenRecord = "deleted objects get the values of a record that was found, although nothing proves it; "

// maxFound is the maximum number of found records that are read. Whoever may create Secrets can create many damaged
// ones.
const maxFound = 4

// found returns the rendering of a record that was found after the loss of the status, and that was made from the same
// inputs; see foundValues. isFound is not set if there is none. If there are several, it is the first one in the order
// of records.Marks.MadeFrom that can be read. So a damaged record, and a record of other inputs, hide no other one. The
// values of two records are not mixed, because they may not fit together.
//
// The status may name a found record of other inputs, because it names the one with the latest time in its annotations.
// Whoever forges a record chooses this time, but the record hides no other one.
func (r *Renderer) found(ctx context.Context, req Request) (Rendered, error) {
	secrets, err := r.options.Records.ListKind(ctx, req.Owner, records.Rendering)
	if err != nil {
		return Rendered{}, records.Problem("find the record of the rendered manifests", err)
	}
	ids := r.options.Records.Marks.MadeFrom(req.Inputs.Digest, secrets)
	for _, id := range ids[:min(len(ids), maxFound)] {
		var bodies []*unstructured.Unstructured
		recorded, err := r.options.Records.Read(ctx, req.Owner, records.Rendering, id, &bodies)
		if err != nil && !records.IsLost(err) {
			return Rendered{}, records.Problem("read the record of the rendered manifests", err)
		}
		// The proof of the record may say that its annotation is wrong about the inputs.
		if err == nil && recorded.Origin != nil && recorded.Origin.InputDigest == req.Inputs.Digest {
			return Rendered{Manifests: Manifests{plain: bodies}, isFound: true}, nil
		}
	}
	return Rendered{}, nil
}

// foundValues returns a rendering with the generated values of the live objects of the component, and with those of a
// found record where no live object has them. found are the manifests of a record that was found, and that nothing
// proves; see records.Found. They are empty if there is none. Such a record is the only copy of the values after a
// restore from a backup without statuses. Nothing of it is used but values of the fields that differ between two
// renderings, in objects that this rendering contains:
//
//   - A live object gets the values if the found manifest is the applied one: its digest annotation is the digest of
//     this manifest. So an object that drifted gets the applied values again. Other live objects keep their values.
//   - Fields that the live object lacks, and those of an object that does not exist, has no owner, or cannot be seen,
//     get the values of the found record, and new values if it has none.
//
// So a tenant who plants a record and clears the status can choose at most a value that would otherwise be random, in
// an object that the component renders anyway. The value is that of the whole field, even if only a part of it is
// random. The record adds no object, and changes no other field.
func (r *Renderer) foundValues(
	ctx context.Context, req Request, v variable, found []*unstructured.Unstructured,
) (filled []*unstructured.Unstructured, taken string, err error) {
	asked := req
	asked.Inventory = nil // An object that was applied has the values, too.
	live, missing, err := restoredObjects(ctx, asked, v.generated(nil))
	if err != nil {
		return nil, "", err
	}
	digests, bodies := r.digestsOf(req, found), map[manifests.Key]*unstructured.Unstructured{}
	for _, o := range found {
		bodies[determinism.KeyOf(o)] = o
	}
	values := slices.Clone(live)
	for i, o := range live {
		applied := o.GetAnnotations()[req.Owner.Reconciler+"/"+marks.AnnotationDigest]
		key := determinism.KeyOf(o)
		// If the record has several manifests of an object, it is not known which one has the digest.
		of := digests[normalKey(req, key)]
		if body := bodies[key]; body != nil && applied != "" && len(of) == 1 && of[0] == applied {
			values[i] = body
		}
	}
	var recorded []*unstructured.Unstructured
	for _, o := range slices.Concat(live, missing) {
		if body := bodies[determinism.KeyOf(o)]; body != nil {
			recorded = append(recorded, body)
		}
	}
	filled, left := determinism.Fill(values, v.objects, v.fields)
	filled, unknown := determinism.FillAlike(recorded, filled, left)
	origin := unprovenRecord
	if len(found) == 0 {
		origin = noRecord
	}
	return filled, origin + describeFound(v.fields, left, unknown), nil
}

// describeFound names the fields with values of live objects, those with values of a found record, and those with new
// values. left are the fields without values of live objects, and unknown are those of them with new values.
func describeFound(fields, left, unknown []determinism.Field) string {
	without := func(all, some []determinism.Field) []determinism.Field {
		names := map[string]bool{}
		for _, f := range some {
			names[f.String()] = true
		}
		return slices.DeleteFunc(slices.Clone(all), func(f determinism.Field) bool { return names[f.String()] })
	}
	var parts []string
	for _, part := range []struct {
		text   string
		fields []determinism.Field
	}{
		{"values of existing objects that are kept: ", without(fields, left)},
		{"values of the record: ", without(left, unknown)},
		{"fields that get new values: ", unknown},
	} {
		if len(part.fields) > 0 {
			parts = append(parts, part.text+describeFields(part.fields))
		}
	}
	return strings.Join(parts, "; ")
}

// digestsOf returns the digests of manifests by normalKey. An object with several orders has several digests. The
// result is empty if the manifests cannot be normalised.
func (r *Renderer) digestsOf(req Request, bodies []*unstructured.Unstructured) map[manifests.Key][]string {
	digests := map[manifests.Key][]string{}
	objects, err := Normalise(bodies, r.normaliseOptions(req))
	if err != nil {
		return digests
	}
	for _, o := range objects {
		key := normalKey(req, o.Key)
		digests[key] = append(digests[key], o.Digest)
	}
	return digests
}

// normalKey returns the key of an object in a form that does not depend on whether its manifest has the default
// namespace.
func normalKey(req Request, key manifests.Key) manifests.Key {
	if key.Namespace == req.Inputs.Namespace {
		key.Namespace = ""
	}
	return key
}
