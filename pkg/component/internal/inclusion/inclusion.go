package inclusion

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/expression"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// Inputs are the values that conditions can use.
type Inputs struct {
	// Namespace and Name are those under which the component is deployed.
	Namespace, Name string
	// Parameters are the parameters of the component.
	Parameters map[string]any
	// Export returns the value of an export, or the reason why it is not known. If Export is nil, no export is known.
	Export func(name string) (value any, reason string)
	// Served reports whether the API server serves a type. An error means that this is not known.
	Served func(schema.GroupKind) (bool, error)
	// Recorded reports whether the inventory contains an object.
	Recorded func(manifests.Key) bool
}

// Decide evaluates the conditions of an apply set. desired has the objects that belong to the component, in the same
// order. If a condition of an object has no value, or if an object in the inventory is inactive, the field Held of the
// object in desired is set. Inactive objects that are not in the inventory are left out. excluded has the objects whose
// condition include-when is false, and the inactive objects that are only observed. The value is false for objects that
// are only observed, which are not to be deleted.
// An object that depends on an excluded or inactive object, or binds a value of it, is excluded or inactive, too.
// Decide does not change the set, and returns it if it has no conditions.
func Decide(
	ctx context.Context, set []manifests.Object, in Inputs,
) (desired []manifests.Object, excluded map[manifests.Key]bool) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, errTooLong)
	defer cancel()
	if !slices.ContainsFunc(set, func(o manifests.Object) bool { return o.Settings.Conditions != nil }) {
		return set, nil
	}
	e := newEvaluation(ctx, set, in)
	desired, excluded = make([]manifests.Object, 0, len(set)), map[manifests.Key]bool{}
	for i, o := range set {
		r := e.result(i)
		switch {
		case r.excluded, r.inactive() && o.Settings.IsObserved():
			excluded[o.Key] = !o.Settings.IsObserved()
		case r.inactive() && !in.Recorded(o.Key):
		default:
			o.Held = r.held
			desired = append(desired, o)
		}
	}
	return desired, excluded
}

// maxTime bounds the evaluation of all conditions of a set, because it occupies a worker.
const maxTime = 2 * time.Second

var errTooLong = fmt.Errorf("the conditions of the component take more than %s; simplify them", maxTime)

// result is the decision about an object. The zero value is an object that is applied.
type result struct {
	excluded bool
	held     *manifests.Held
}

// inactive reports whether the object is neither applied nor deleted, because its condition active-when is false.
func (r result) inactive() bool { return r.held != nil && r.held.Undecided == "" }

type evaluation struct {
	ctx       context.Context
	in        Inputs
	variables map[string]any
	// unserved is set if it is not known whether a type is served that a condition asked for.
	unserved bool
	set      []manifests.Object
	// index has the first object with each key.
	index map[manifests.Key]int
	// results are the decisions that were made; nil for an object that was not decided.
	results []*result
}

func newEvaluation(ctx context.Context, set []manifests.Object, in Inputs) *evaluation {
	e := &evaluation{
		ctx: ctx, in: in, set: set, index: make(map[manifests.Key]int, len(set)), results: make([]*result, len(set)),
		variables: map[string]any{
			expression.VariableComponent:  map[string]any{"namespace": in.Namespace, "name": in.Name},
			expression.VariableParameters: in.Parameters,
		},
	}
	if in.Parameters == nil {
		e.variables[expression.VariableParameters] = map[string]any{}
	}
	for i := range set {
		if _, known := e.index[set[i].Key]; !known {
			e.index[set[i].Key] = i
		}
	}
	return e
}

// result returns the decision about an object of the set.
func (e *evaluation) result(i int) result {
	if e.results[i] == nil {
		// A normalised set has no cycles. If it had any, the object would count as applied within its cycle.
		e.results[i] = &result{}
		e.results[i] = new(e.decide(e.set[i]))
	}
	return *e.results[i]
}

func (e *evaluation) decide(o manifests.Object) result {
	excluded, inactive := e.inherited(o)
	c := o.Settings.Conditions
	switch {
	case excluded:
		return result{excluded: true}
	case c == nil && inactive:
		return result{held: &manifests.Held{}}
	case c == nil:
		return result{}
	}
	missing := e.readExports(c.Exports)
	included, err := e.holds(c.Include, expression.IncludeScope())
	switch {
	case err != nil:
		return result{held: e.undecided(manifests.AnnotationIncludeWhen, c.Include, missing, err)}
	case !included:
		return result{excluded: true}
	case inactive:
		return result{held: &manifests.Held{}}
	}
	e.unserved = false
	active, err := e.holds(c.Active, expression.ActiveScope(e.served))
	switch {
	case err != nil:
		return result{held: e.undecided(manifests.AnnotationActiveWhen, c.Active, missing, err)}
	case !active:
		return result{held: &manifests.Held{}}
	}
	return result{}
}

// inherited reports whether an object that the given object depends on, or whose value it binds, is excluded or
// inactive. Optional dependencies, and groups, which may lose members, do not count.
func (e *evaluation) inherited(o manifests.Object) (excluded, inactive bool) {
	if o.Settings.Graph == nil {
		return false, false
	}
	inherit := func(key manifests.Key) {
		if i, known := e.index[key]; known && key != o.Key {
			r := e.result(i)
			excluded, inactive = excluded || r.excluded, inactive || r.inactive()
		}
	}
	for _, d := range o.Settings.Graph.DependsOn {
		for _, key := range d.In(o.Key.Namespace) {
			if !d.Optional && slices.Contains(o.Edges, key) {
				inherit(key)
			}
		}
	}
	for _, key := range o.Settings.Graph.Exporters {
		inherit(key)
	}
	return excluded, inactive
}

// holds evaluates a condition. An empty condition is true.
func (e *evaluation) holds(text string, scope expression.Scope) (bool, error) {
	if text == "" {
		return true, nil
	}
	program, err := expression.Compile(text, scope)
	if err != nil {
		return false, err
	}
	return program.Bool(e.ctx, e.variables)
}

// readExports sets the variable exports to the known values, and returns the reasons why others are not known.
func (e *evaluation) readExports(names []string) (missing []string) {
	values := map[string]any{}
	for _, name := range names {
		reason := "it is not known yet"
		if e.in.Export != nil {
			values[name], reason = e.in.Export(name)
		}
		if reason != "" {
			delete(values, name)
			missing = append(missing, fmt.Sprintf("export %s: %s", name, reason))
		}
	}
	e.variables[expression.VariableExports] = values
	return missing
}

// served reports whether the API server serves a type.
func (e *evaluation) served(gk schema.GroupKind) (bool, error) {
	served, err := e.in.Served(gk)
	e.unserved = e.unserved || err != nil
	return served, err
}

// undecided describes a condition without a value. Parameters may be secret, so the message does not have the error of
// the expression. missing are the exports without a value.
func (e *evaluation) undecided(annotation, expr string, missing []string, err error) *manifests.Held {
	var text string
	switch absent := expression.IsMissing(err); {
	case absent && len(missing) > 0:
		text = fmt.Sprintf("the expression %q waits for %s", expr, strings.Join(missing, "; "))
	case absent:
		text = fmt.Sprintf("the expression %q reads a parameter that is not set; set it, or test it with has()", expr)
	case errors.Is(err, errTooLong):
		text = errTooLong.Error()
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		text = "its evaluation was interrupted"
	case e.unserved:
		text = "it is not known whether the API server serves a type that served() names, because discovery failed; it is " +
			"asked again"
	default:
		text = "the expression failed; check the types of the parameters and exports that it reads"
	}
	return &manifests.Held{
		Undecided: fmt.Sprintf(
			"it is not decided whether the object is applied: %s: %s; the object stays as it is",
			annotation,
			text,
		),
		Transient: !expression.IsMissing(err),
	}
}
