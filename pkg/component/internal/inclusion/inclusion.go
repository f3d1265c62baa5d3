package inclusion

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
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
	// Hidden reports whether messages must not show the parameter of a path, such as parameters.login. If Hidden is nil,
	// no parameter is shown.
	Hidden func(path string) bool
}

// Decision says which objects of a set are applied.
type Decision struct {
	// Desired contains the objects that belong to the component, in the order of the set. If a condition of an object has
	// no value, or if an object in the inventory is inactive, the field Held of the object is set. Inactive objects that
	// are not in the inventory are left out.
	Desired []manifests.Object
	// Excluded contains the objects whose condition include-when is false, and the inactive objects that are only
	// observed. The value is false for objects that are only observed, which are not to be deleted.
	Excluded map[manifests.Key]bool
	// LeftOut says why objects are excluded or inactive, for the first objects of the set; see describe.
	LeftOut []metav1alpha1.DependentReport

	recorded map[manifests.Key]manifests.Key
}

// KeyOf returns the key that an object of the set has in Desired: the one of its entry in the inventory, if they
// differ.
func (d Decision) KeyOf(key manifests.Key) manifests.Key { return keyIn(d.recorded, key) }

// Decide evaluates the conditions of an apply set. An object that depends on an excluded or inactive object, or binds a
// value of it, is excluded or inactive, too. If the condition of that object has no value, the field Undecided is set.
// Decide does not change the set. It returns the set itself if there are no conditions and no object has another key in
// the inventory; see withRecordedKeys.
func Decide(ctx context.Context, set []manifests.Object, in Inputs) Decision {
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, errTooLong)
	defer cancel()
	set, recorded := in.withRecordedKeys(set)
	if !slices.ContainsFunc(set, func(o manifests.Object) bool { return o.Settings.Conditions != nil }) {
		return Decision{Desired: set, recorded: recorded}
	}
	e := newEvaluation(ctx, set, in)
	e.recorded = recorded
	d := Decision{
		Desired: make([]manifests.Object, 0, len(set)), Excluded: map[manifests.Key]bool{}, recorded: recorded,
	}
	for i, o := range set {
		r := e.result(i)
		switch {
		case r.excluded, r.inactive() && o.Settings.IsObserved():
			d.Excluded[o.Key] = !o.Settings.IsObserved()
			continue
		case r.inactive() && !in.Recorded(o.Key):
			continue
		case r.held == nil && r.undecided != nil:
			o.Undecided = &set[*r.undecided].Key
		}
		o.Held = r.held
		d.Desired = append(d.Desired, o)
	}
	d.LeftOut = e.leftOut()
	return d
}

// maxTime bounds the evaluation of all conditions of a set, because it occupies a worker.
const maxTime = 2 * time.Second

var errTooLong = fmt.Errorf("the conditions of the component take more than %s; simplify them", maxTime)

// decision says whether an object is applied. The zero value is an object that is applied.
type decision struct {
	excluded bool
	held     *manifests.Held
	// by is the index of the object whose result an excluded or inactive object inherits; nil if it inherits none.
	by *int
	// undecided is the index of the object that makes it undecided whether this object is applied; nil if there is none.
	undecided *int
}

// inactive reports whether the object is neither applied nor deleted, because its condition active-when is false.
func (r decision) inactive() bool { return r.held != nil && r.held.Undecided == "" }

type evaluation struct {
	ctx       context.Context
	in        Inputs
	variables map[string]any
	// unserved is set if it is not known whether a type is served that a condition asked for. missing are the types that
	// are not served, of those that it asked for.
	unserved bool
	missing  []string
	set      []manifests.Object
	// recorded contains the keys of the inventory for those objects that have other keys there.
	recorded map[manifests.Key]manifests.Key
	// index contains the first object with each key.
	index map[manifests.Key]int
	// active are the compiled conditions active-when, by their texts.
	active map[string]*expression.Program
	// results are the decisions that were made; nil for an object that was not decided.
	results []*decision
}

func newEvaluation(ctx context.Context, set []manifests.Object, in Inputs) *evaluation {
	e := &evaluation{
		ctx: ctx, in: in, set: set, index: indexOf(set), results: make([]*decision, len(set)),
		active: map[string]*expression.Program{},
		variables: map[string]any{
			expression.VariableComponent:  map[string]any{"namespace": in.Namespace, "name": in.Name},
			expression.VariableParameters: in.Parameters,
		},
	}
	if in.Parameters == nil {
		e.variables[expression.VariableParameters] = map[string]any{}
	}
	return e
}

// indexOf returns the index of the first object of a set with each key.
func indexOf(set []manifests.Object) map[manifests.Key]int {
	index := make(map[manifests.Key]int, len(set))
	for i := range set {
		if _, known := index[set[i].Key]; !known {
			index[set[i].Key] = i
		}
	}
	return index
}

// result returns the decision about an object of the set.
func (e *evaluation) result(i int) decision {
	if e.results[i] == nil {
		// A normalised set contains no cycles. In a cycle, the object would count as applied within its cycle.
		e.results[i] = &decision{}
		e.results[i] = new(e.decide(e.set[i]))
	}
	return *e.results[i]
}

func (e *evaluation) decide(o manifests.Object) decision {
	from := e.inherited(o)
	c := o.Settings.Conditions
	switch {
	case from.excluded != nil:
		return decision{excluded: true, by: from.excluded}
	case c == nil && from.inactive != nil:
		return decision{held: &manifests.Held{}, by: from.inactive}
	case c == nil:
		return decision{undecided: from.undecided}
	}
	missing := e.readExports(c.Exports)
	included, err := e.holds(manifests.AnnotationIncludeWhen, c.Include)
	switch {
	case err != nil:
		return decision{held: e.undecided(manifests.AnnotationIncludeWhen, c.Include, missing, err)}
	case !included:
		return decision{excluded: true}
	case from.inactive != nil:
		return decision{held: &manifests.Held{}, by: from.inactive}
	}
	active, err := e.isActive(c)
	switch {
	case err != nil:
		return decision{held: e.undecided(manifests.AnnotationActiveWhen, c.Active, missing, err)}
	case !active:
		return decision{held: &manifests.Held{}}
	}
	return decision{undecided: from.undecided}
}

// isActive evaluates the condition active-when.
func (e *evaluation) isActive(c *manifests.Conditions) (bool, error) {
	e.unserved, e.missing = false, nil
	return e.holds(manifests.AnnotationActiveWhen, c.Active)
}

// inheritance contains the first objects that an object depends on, or whose value it binds, and that are excluded or
// inactive, and the first whose condition has no value, also indirectly. The fields are nil if there are none.
type inheritance struct{ excluded, inactive, undecided *int }

// add adds the result of the object with index i.
func (from *inheritance) add(i int, r decision) {
	switch {
	case r.excluded && from.excluded == nil:
		from.excluded = &i
	case r.inactive() && from.inactive == nil:
		from.inactive = &i
	case r.held != nil && !r.inactive() && from.undecided == nil:
		from.undecided = &i
	case from.undecided == nil:
		from.undecided = r.undecided
	}
}

// inherited returns what an object inherits.
func (e *evaluation) inherited(o manifests.Object) (from inheritance) {
	for _, key := range inheritedFrom(o, e.recorded) {
		if i, known := e.index[key]; known {
			from.add(i, e.result(i))
		}
	}
	return from
}

// inheritedFrom returns the keys of the objects from which an object inherits: those that it depends on, and those
// whose values it binds. Optional dependencies, and groups, which may lose members, do not count. recorded contains the
// keys of the inventory; see withRecordedKeys.
func inheritedFrom(o manifests.Object, recorded map[manifests.Key]manifests.Key) (keys []manifests.Key) {
	if o.Settings.Graph == nil {
		return nil
	}
	for _, d := range o.Settings.Graph.DependsOn {
		for _, key := range d.In(o.Key.Namespace) {
			if key = keyIn(recorded, key); !d.Optional && slices.Contains(o.Edges(), key) {
				keys = append(keys, key)
			}
		}
	}
	keys = append(keys, o.Settings.Graph.Exporters...)
	return slices.DeleteFunc(keys, func(key manifests.Key) bool { return key == o.Key })
}

// holds evaluates the condition that an annotation states. An empty condition is true.
func (e *evaluation) holds(annotation, text string) (bool, error) {
	if text == "" {
		return true, nil
	}
	program, err := e.compile(annotation, text)
	if err != nil {
		return false, err
	}
	return program.Bool(e.ctx, e.variables)
}

// compile compiles the condition that an annotation states. The function served, which only active-when may call,
// belongs to this evaluation, so the package expression does not keep the programs that call it.
func (e *evaluation) compile(annotation, text string) (program *expression.Program, err error) {
	if annotation == manifests.AnnotationIncludeWhen {
		return expression.Compile(text, expression.IncludeScope())
	}
	if e.active[text] == nil {
		if program, err = expression.Compile(text, expression.ActiveScope(e.served)); err != nil {
			return nil, err
		}
		e.active[text] = program
	}
	return e.active[text], nil
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
	if err == nil && !served {
		e.missing = append(e.missing, gk.String())
	}
	return served, err
}

// undecided describes a condition without a value. Parameters may be secret, so the message does not contain the error
// of the expression. missing are the exports without a value.
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
		text = fmt.Sprintf("the expression %q failed; check the types of the parameters and exports that it reads", expr)
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
