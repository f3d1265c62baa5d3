package binding

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/builtintypes"
	"github.com/fairlead-io/fairlead/internal/depgraph"
	"github.com/fairlead-io/fairlead/internal/digests"
	"github.com/fairlead-io/fairlead/internal/expression"
	"github.com/fairlead-io/fairlead/internal/holes"
	"github.com/fairlead-io/fairlead/internal/marks"
	"github.com/fairlead-io/fairlead/internal/objectmeta"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Bindings are the exports of a set, by name, with the objects that export them. The zero value has no exports.
type Bindings struct {
	reconciler string
	scope      expression.Scope
	exporters  map[string]manifests.Key
}

// New returns the bindings of a normalised set. Used is false if no object of the set has holes, or a condition
// that reads exports.
func New(reconciler string, objects []manifests.Object) (b Bindings, used bool) {
	used = slices.ContainsFunc(objects, func(o manifests.Object) bool { return o.Settings.Binds() || o.ReadsExports() })
	if !used {
		return Bindings{}, false
	}
	b = Bindings{reconciler: reconciler, exporters: map[string]manifests.Key{}}
	for i := range objects {
		for _, e := range objects[i].Settings.Exports() {
			b.exporters[e.Name] = objects[i].Key
		}
	}
	b.scope.Variables = slices.Sorted(maps.Keys(b.exporters))
	return b, true
}

// Exporter returns the object that exports a value.
func (b Bindings) Exporter(name string) manifests.Key { return b.exporters[name] }

// Bound is the result of Bind.
type Bound struct {
	// Object has no holes, and its digest covers the values. It is only valid if Missing is empty.
	Object manifests.Object
	// Missing are the names of the exports without a value, in ascending order.
	Missing []string
}

// ErrNotYet is the error of Bind if an expression reads a field that the exported values do not have yet.
var ErrNotYet = holes.ErrNoValue

// Bind replaces the holes of an object. The function value returns the value of an export; known is false if it has
// none. The error names the field, and contains no values of Secrets.
func (b Bindings) Bind(
	ctx context.Context, o manifests.Object, value func(name string) (v any, known bool),
) (Bound, error) {
	whole, err := o.Whole()
	if err != nil {
		return Bound{}, err
	}
	values, missing := map[string]any{}, map[string]bool{}
	body, err := holes.Map(whole.Body.Object, o.Key.GroupKind(), b.scope, nil, func(at holes.Place, parts []holes.Part) (any, error) {
		complete := true
		for _, name := range holes.Variables(parts) {
			v, known := value(name)
			if values[name] = v; !known {
				missing[name], complete = true, false
			}
		}
		if !complete {
			return "", nil
		}
		filled, err := holes.Fill(ctx, parts, values, at.IsText(o.Key.GroupKind()))
		if err != nil {
			return nil, b.withoutValues(o, err)
		}
		return filled, nil
	})
	if len(missing) > 0 {
		return Bound{Missing: slices.Sorted(maps.Keys(missing))}, nil
	}
	if err != nil {
		return Bound{}, err
	}
	bound := whole
	if bound.Digest, err = digests.Bound(o.Digest, values); err != nil {
		return Bound{}, err
	}
	bound.Packed, bound.Body = nil, &unstructured.Unstructured{Object: body}
	bound.Immutable = builtintypes.HashImmutable(bound.Body)
	annotations := bound.Body.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[b.reconciler+"/"+marks.AnnotationDigest] = bound.Digest
	bound.Body.SetAnnotations(annotations)
	return Bound{Object: bound}, objectmeta.CheckAnnotations(annotations)
}

// withoutValues returns the error of a hole without values of Secrets, which only Secrets can bind, and without the
// text of a Secret.
func (b Bindings) withoutValues(o manifests.Object, err error) error {
	switch {
	case !o.Key.IsSecret():
		return err
	case errors.Is(err, ErrNotYet):
		return ErrNotYet
	}
	return errors.New(
		"a hole has no value: its expression failed; the reason may contain values of Secrets, and is not shown",
	)
}

// Check returns the contradictions between the exports and the holes of a set: names that two objects export,
// holes without an export, holes that wait for a later wave, and values of Secrets that would leave Secrets. It also
// returns the objects whose values each object uses; see checkFlow.
func Check(reconciler string, objects []manifests.Object, budget *expression.Budget) (Uses, []error) {
	c := bindingCheck{
		orders: map[manifests.Key]int{}, uses: Uses{InHoles: depgraph.Needs{}, All: depgraph.Needs{}}, budget: budget,
	}
	for i := range objects {
		c.addExports(objects[i])
	}
	c.bindings, _ = New(reconciler, objects)
	if len(c.bindings.scope.Variables) > maxExportsOfSet {
		c.errs = append(
			c.errs,
			fmt.Errorf("the set contains %d exports, more than %d", len(c.bindings.scope.Variables), maxExportsOfSet),
		)
	}
	for i := range objects {
		if objects[i].Settings.Binds() {
			c.addHoles(reconciler, objects[i])
		}
		if objects[i].ReadsExports() {
			c.addConditions(objects[i])
		}
	}
	return c.uses, c.errs
}

// Uses are the objects whose exported values each object uses: in its holes, and also in its conditions.
type Uses struct{ InHoles, All depgraph.Needs }

// bindingCheck collects the contradictions of a set.
type bindingCheck struct {
	bindings  Bindings
	exporters map[string]manifests.Key
	// orders are the orders of the exporters in waves.
	orders map[manifests.Key]int
	uses   Uses
	errs   []error
	// budget bounds the expressions of the set.
	budget *expression.Budget
}

func (c *bindingCheck) fail(key manifests.Key, format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("%s: "+format, append([]any{key}, args...)...))
}

func (c *bindingCheck) addExports(o manifests.Object) {
	if len(o.Settings.Exports()) == 0 {
		return
	}
	if c.exporters == nil {
		c.exporters = map[string]manifests.Key{}
	}
	if !o.InGraph() {
		c.orders[o.Key] = o.Settings.Order
	}
	for _, e := range o.Settings.Exports() {
		if other, taken := c.exporters[e.Name]; taken && other != o.Key {
			c.fail(o.Key, "it exports %s, and so does %s; export names are unique in a component", e.Name, other)
			continue
		}
		c.exporters[e.Name] = o.Key
	}
}

func (c *bindingCheck) addHoles(reconciler string, o manifests.Object) {
	count := 0
	_, err := holes.Map(
		o.Body.Object,
		o.Key.GroupKind(),
		c.bindings.scope,
		c.budget,
		func(at holes.Place, parts []holes.Part) (any, error) {
			if count += holes.Count(parts); count > holes.Max {
				return nil, holes.ErrTooMany
			}
			if at.IsIdentity(reconciler) {
				return nil, errors.New("the identity and the settings of an object cannot have holes")
			}
			names := holes.Variables(parts)
			for _, name := range names {
				c.uses.InHoles.Add(o.Key, c.bindings.exporters[name])
			}
			return "", c.checkUse(o, names, at.IsEncoded(o.Key.GroupKind()))
		},
	)
	if err != nil {
		c.fail(o.Key, "annotation %s/%s: %w; %s", reconciler, manifests.AnnotationBind, err, c.known())
	}
}

// known returns the names of the exports for a message.
func (c *bindingCheck) known() string {
	if names := c.bindings.scope.Variables; len(names) > 0 {
		return "the exports are " + strings.Join(names[:min(len(names), maxNamed)], ", ")
	}
	return "nothing in this component exports values"
}

// addConditions checks the exports that the conditions of an object read.
func (c *bindingCheck) addConditions(o manifests.Object) {
	names := o.Settings.Conditions.Exports
	for _, name := range names {
		if _, known := c.bindings.exporters[name]; !known {
			c.fail(o.Key, "a condition reads exports.%s, which no object exports; %s", name, c.known())
			return
		}
	}
	if err := c.checkUse(o, names, false); err != nil {
		c.fail(o.Key, "a condition reads an export: %w", err)
	}
}

// checkUse checks the exports that an object uses, and notes them. protected is set if the data of a Secret receives
// the values. Conditions show values to all who see the object. So does the metadata of a Secret, for example in diffs.
func (c *bindingCheck) checkUse(o manifests.Object, names []string, protected bool) error {
	for _, name := range names {
		exporter := c.bindings.exporters[name]
		order, inWave := c.orders[exporter]
		switch {
		case exporter.IsSecret() && !protected:
			return fmt.Errorf(
				"%s is a value of %s, and values of Secrets can be bound into the data of Secrets only", name, exporter)
		case inWave && !o.InGraph() && order > o.Settings.Order:
			return fmt.Errorf(
				"it waits for %s of %s, whose order %d is after its own order %d; give it order %d or a later one",
				name,
				exporter,
				order,
				o.Settings.Order,
				order,
			)
		}
		c.uses.All.Add(o.Key, exporter)
	}
	return nil
}

const (
	// maxExportsOfSet is the maximum number of exports of all objects of a set.
	maxExportsOfSet = 256
	// maxNamed is the maximum number of exports that a message names.
	maxNamed = 20
)
