package show

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/changes"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/deletionrights"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/readers"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/component/tree"
)

// Plan contains the writes that an operator would make for a component.
type Plan struct {
	APIVersion string        `json:"apiVersion"`
	Kind       string        `json:"kind"`
	Component  PlanOf        `json:"component"`
	Steps      []PlanStep    `json:"steps"`
	Waiting    []PlanWaiting `json:"waiting"`
	Blocked    []PlanBlocked `json:"blocked"`
	// Ignored are the fields of dependents that are left to others.
	Ignored []PlanIgnored `json:"ignored,omitempty"`
	// Dropped are the fields that the API server drops without an error, because the types do not have them.
	Dropped []PlanDropped `json:"dropped,omitempty"`
	// LeftOut are the first ten objects that are not applied, because their conditions are false.
	LeftOut []LeftOut `json:"leftOut,omitempty"`
	// NotAsked are the dependents that bind values of dependents outside Kubernetes, which are not known.
	NotAsked   []PlanNotAsked `json:"notAsked,omitempty"`
	Finalizers []string       `json:"finalizers,omitempty"`
	// MissingRights are rights that a deletion needs, and that the identity lacks that makes its requests.
	MissingRights []deletionrights.Missing `json:"missingRights,omitempty"`
	// Readers are the components that read from a component which would be deleted.
	Readers []readers.Reader `json:"readers,omitempty"`
	Counts  map[string]int   `json:"counts"`
	// AtDeletion are the steps of the deletion of the component that take over objects which exist now.
	AtDeletion []PlanStep `json:"atDeletion,omitempty"`
	// ConflictsAtDeletion are the objects that exist now and that the deletion of the component would have to wait for,
	// and UnreadAtDeletion the objects of its phases of which it is not known whether they exist.
	ConflictsAtDeletion []PlanWaiting `json:"conflictsAtDeletion,omitempty"`
	UnreadAtDeletion    []PlanWaiting `json:"unreadAtDeletion,omitempty"`
	// Permissible are the take-overs that entries in spec.adopt would permit, of objects that the component waits for now.
	Permissible []PlanStep `json:"permissible,omitempty"`
}

// PlanOf is the component of a plan.
type PlanOf struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name"`
	// Delete reports whether the plan is the plan of the component's deletion.
	Delete bool `json:"delete"`
	// Revision is the revision that would be applied. NewRevision reports whether Revision differs from the last
	// applied revision.
	Revision    int64 `json:"revision"`
	NewRevision bool  `json:"newRevision"`
	// Suspended reports whether the component is suspended, so that the operator makes no writes until it is resumed.
	Suspended bool `json:"suspended"`
}

// PlanStep is one write. Steps of the same turn run at the same time.
type PlanStep struct {
	Turn  int    `json:"turn"`
	Wave  int    `json:"wave"`
	Phase string `json:"phase,omitempty"`
	// Action is one word in lower case, such as create or prune.
	Action    string `json:"action"`
	Group     string `json:"group"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Reason    string `json:"reason"`
	// DependsOn are the objects and groups that the dependent depends on. If there are any, it belongs to no wave.
	DependsOn []string `json:"dependsOn,omitempty"`
	// Fields are the paths that an update changes.
	Fields []string `json:"fields,omitempty"`
	// Adopts is set if the step takes over an existing object.
	Adopts *PlanAdoption `json:"adopts,omitempty"`
	// Held reports whether a failure must be corrected before the operator makes the write.
	Held bool `json:"held,omitempty"`
	// Unchecked is the reason why the preview made no dry run of the write. It is empty if a dry run was made.
	Unchecked string `json:"unchecked,omitempty"`
}

// PlanWaiting is a dependent that would delay the component.
type PlanWaiting struct {
	Dependent string `json:"dependent"`
	Wave      int32  `json:"wave"`
	Reason    string `json:"reason"`
	Message   string `json:"message,omitempty"`
	// Failed reports whether the dependent failed, so that a person must act. Until then, later waves are not applied.
	Failed bool `json:"failed"`
	// Place is the source file of a dependent that the API server would refuse, with a line if it is known.
	Place string `json:"place,omitempty"`
}

// PlanNotAsked is a dependent that binds values of dependents outside Kubernetes. Message names the exports.
type PlanNotAsked struct {
	Dependent string `json:"dependent"`
	Message   string `json:"message"`
}

// PlanBlocked is a type that is not deleted as long as instances exist that are not dependents of the component.
type PlanBlocked struct {
	Type  string   `json:"type"`
	Count int      `json:"count"`
	Names []string `json:"names,omitempty"`
	Error string   `json:"error,omitempty"`
}

// unchanged is the key in Plan.Counts of the number of dependents without a write.
const unchanged = "unchanged"

// effects are the kinds of writes, in the order in which the summary lists their numbers.
var effects = []result.Effect{
	result.EffectCreate,
	result.EffectUpdate,
	result.EffectAdopt,
	result.EffectRecreate,
	result.EffectPurge,
	result.EffectPrune,
	result.EffectDelete,
	result.EffectRelease,
}

func actionOf(e result.Effect) string { return strings.ToLower(string(e)) }

// Locate adds the source files of those dependents to the plan that the API server would refuse, and the fields that it
// drops. The function of returns the file of a dependent, and empty if it is not known.
func (p *Plan) Locate(f result.Forecast, of func(dependent, field string) string) {
	p.Dropped = DroppedFields(f.Dropped, of)
	for i, w := range f.Waiting {
		if w.Refused {
			p.Waiting[i].Place = of(w.Dependent, w.Field)
		}
	}
}

// AddPermissible adds the take-overs that entries in spec.adopt would permit.
func (p *Plan) AddPermissible(steps []result.Step) {
	for _, s := range steps {
		p.Permissible = append(p.Permissible, planStep(s))
	}
}

// NewPlan converts a forecast into a plan.
func NewPlan(obj *unstructured.Unstructured, f result.Forecast, deletion bool) Plan {
	p := Plan{
		APIVersion: SchemaVersion, Kind: "Plan",
		Component: PlanOf{
			APIVersion: obj.GetAPIVersion(), Kind: obj.GetKind(), Namespace: obj.GetNamespace(), Name: obj.GetName(),
			Delete: deletion, Revision: f.Revision, NewRevision: f.NewRevision, Suspended: f.Suspended,
		},
		Steps: make([]PlanStep, 0, len(f.Steps)), Waiting: []PlanWaiting{}, Blocked: []PlanBlocked{},
		Finalizers: f.Finalizers, Ignored: IgnoredFields(f), LeftOut: leftOutOf(f.LeftOut),
		Counts: map[string]int{unchanged: f.Unchanged},
	}
	for _, s := range f.Steps {
		step := planStep(s)
		p.Steps = append(p.Steps, step)
		p.Counts[step.Action]++
	}
	for _, s := range f.AtDeletion.Adoptions {
		p.AtDeletion = append(p.AtDeletion, planStep(s))
	}
	p.Waiting = append(p.Waiting, planWaiting(f.Waiting)...)
	p.ConflictsAtDeletion = planWaiting(f.AtDeletion.Conflicts)
	p.UnreadAtDeletion = planWaiting(f.AtDeletion.Unread)
	for _, n := range f.NotAsked {
		p.NotAsked = append(p.NotAsked, PlanNotAsked{Dependent: n.Key.String(), Message: n.Message})
	}
	for _, b := range f.Blocked {
		p.Blocked = append(p.Blocked, PlanBlocked{Type: b.Type, Count: b.Count, Names: b.Names, Error: b.Error})
	}
	return p
}

func planStep(s result.Step) PlanStep {
	step := PlanStep{
		DependsOn: s.DependsOn,
		Turn:      s.Turn,
		Wave:      s.Wave,
		Phase:     string(s.Phase),
		Action:    actionOf(s.Effect),
		Group:     s.Key.Group,
		Kind:      s.Key.Kind,
		Namespace: s.Key.Namespace,
		Name:      s.Key.Name,
		Reason:    s.Reason,
		Adopts:    adoptionOf(s),
		Held:      s.Held,
		Unchecked: s.Unchecked,
	}
	if s.Adopts == nil && s.Note != "" {
		step.Reason += "; " + s.Note
	}
	if s.Unchecked == "" {
		step.Fields = changes.Fields(changes.Clean(Before(s)), changes.Clean(s.After))
	}
	return step
}

func planWaiting(waiting []result.Waiting) (shown []PlanWaiting) {
	for _, w := range waiting {
		shown = append(shown, PlanWaiting{
			Dependent: w.Dependent, Wave: w.Wave, Reason: w.Reason, Message: w.Message,
			Failed: w.Failed || w.Reason == tree.ReasonNotServed,
		})
	}
	return shown
}

// Before returns the object before a step. For an object that is recreated, it returns only the fields that have a
// field manager, because these are lost. Other fields are defaults, which the API server sets again.
func Before(s result.Step) *unstructured.Unstructured {
	if s.Effect != result.EffectRecreate {
		return s.Before
	}
	if managed := changes.Managed(s.Before); managed != nil {
		return managed
	}
	return s.Before
}
