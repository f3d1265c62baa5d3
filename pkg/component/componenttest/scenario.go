package componenttest

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/pkg/component"
)

// T is what Run needs of a test: *testing.T and ginkgo's GinkgoTB() will do.
type T interface {
	Helper()
	Context() context.Context
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
}

// Scenario is the life of a component of type C, a pointer to a struct: it is installed, goes through the steps, and is
// deleted. It lives in a namespace of its own.
type Scenario[C component.Component] struct {
	// Name begins the names of the namespaces. Scenarios that run on one cluster need different names; empty by
	// default.
	Name string
	// Config reaches the cluster as an administrator, who sets the scene and looks at what comes of it. Operators get a
	// copy whose requests meet the faults. The namespaces of a run that fails stay for an examination, and must be deleted
	// before the next run.
	Config *rest.Config
	// Scheme knows C.
	Scheme *runtime.Scheme
	// Reconciler is the name that NewReconciler was given.
	Reconciler string
	// Operator runs the operator as its main function does, until ctx ends or something fails. It is called again after
	// each crash. WrapCalls(ctx, transport) lets its calls to external systems meet faults. In one process that needs
	// Options.SkipNameValidation. The operator must serve only the components of the namespace, for example by
	// Cache.DefaultNamespaces of the manager's options, if Parallel is more than one or the cluster has others.
	Operator func(ctx context.Context, config *rest.Config, namespace string) error
	// Component returns what is installed. What it renders outside its namespace must be named after the namespace
	// where Parallel is more than one.
	Component func(namespace string) C
	// Cloud, if set, returns the cloud whose things are the externals of the component in a namespace. Its calls meet
	// faults, and the things in it are compared, too. Only the kinds of things of this package take part; WrapCalls and
	// Outside are for all other kinds.
	Cloud func(namespace string) *Cloud
	// Resolve, if set, answers for an uncertain create of a thing of the Cloud, as a person does. external is its kind and
	// name, such as Thing/one, and id is its id, or empty if it does not exist. By default, the answer is written to the
	// annotation of the component that the command fairlead external resolve writes.
	Resolve func(ctx context.Context, namespace, external, id string) error
	// ReportCrashes, if set, gets the number of crashes in the calls of each method of the Cloud, when all runs have
	// ended.
	ReportCrashes func(byMethod map[string]int)
	// Outside, if set, returns what is in the external systems of the component in a namespace: a text for each external,
	// of others, too, without ids and tokens, which differ in each run. The texts are compared as dependents are. Use
	// WrapCalls, so that the calls of the operator meet faults.
	Outside func(ctx context.Context, namespace string) ([]string, error)
	// Missing, if set, returns what is missing to the end of a step besides the dependents, such as a value that the
	// operator has not read. A step ends when nothing is missing. Missing is called repeatedly, also after the deletion.
	Missing func(ctx context.Context, c client.Client, namespace string) []string
	// Steps follow the installation. Afterwards the component is deleted.
	Steps []Step[C]
	// Bystanders are objects of others, which must stay as they are. There are always some ConfigMaps, among them one
	// with a copy of the owner label. A Secret among them may hold credentials of the component: the operator may add its
	// finalizer and its label to it, and must remove both after the deletion.
	Bystanders func(namespace string) []client.Object

	// Seeds are those to run the scenario with, once each.
	Seeds []uint64
	// Parallel is how many of them run at a time; one by default.
	Parallel int
	// Faults are what happens; the seed is set for each run.
	Faults Faults
	// Timeout is how long a step may take with its faults; a minute by default. The time begins when Disturb and Change
	// have returned, and does not bound them.
	Timeout time.Duration
}

// Step is something that happens to an installed component. It has come to its end when the component is ready, and all
// is as the same step left it without faults.
type Step[C component.Component] struct {
	Name string
	// Change edits the component as its user would, such as its spec.
	Change func(C)
	// Disturb does what others do to the dependents, such as editing or deleting one. If the operator sees the change by
	// a poll only, as in an external system, Disturb must wait until it is repaired: before the poll the component is
	// still ready, so the step would end at once. It must bound this wait itself.
	Disturb func(ctx context.Context, c client.Client, namespace string) error
}

func (s Scenario[C]) withDefaults() Scenario[C] {
	s.Parallel = max(1, s.Parallel)
	if s.Timeout <= 0 {
		s.Timeout = time.Minute
	}
	return s
}

// Run runs a scenario without faults first, and then with each seed. It fails the test where a run does not come to
// the end state of the run without faults, step by step: the same dependents with the same values, fields owned, and
// record; nothing created twice, nothing leaked or lost, nothing of others touched. The message names the seed; a run
// with this seed alone repeats it.
func Run[C component.Component](t T, s Scenario[C]) {
	t.Helper()
	s = s.withDefaults()
	reference, err := s.run(t.Context(), nil, s.namespace("reference"), none())
	if err != nil {
		t.Errorf("without faults: %v", err)
		return
	}
	results := s.runAll(t.Context(), reference.record)
	met, crashes, failed := map[Fault]int{}, map[string]int{}, 0
	for range s.Seeds {
		r := <-results
		for fault, n := range r.met {
			met[fault] += n
		}
		for method, n := range r.crashes {
			crashes[method] += n
		}
		if r.err != nil {
			failed++
			t.Errorf("seed %d: %v", r.seed, r.err)
		}
	}
	t.Logf("%d runs, %d failed; faults: %v", len(s.Seeds), failed, met)
	if s.ReportCrashes != nil {
		s.ReportCrashes(crashes)
	}
}

// namespace returns the name of the namespace of a run.
func (s Scenario[C]) namespace(run string) string {
	if s.Name == "" {
		return run
	}
	return s.Name + "-" + run
}

// result is what came of a seed.
type result struct {
	seed    uint64
	met     map[Fault]int
	crashes map[string]int
	err     error
}

func (s Scenario[C]) runAll(ctx context.Context, reference *record) <-chan result {
	results, seeds := make(chan result), make(chan uint64)
	go func() {
		defer close(seeds)
		for _, seed := range s.Seeds {
			seeds <- seed
		}
	}()
	for range s.Parallel {
		go func() {
			for seed := range seeds {
				faults := s.Faults
				faults.Seed = seed
				p, err := s.run(ctx, reference, s.namespace(fmt.Sprintf("seed-%d", seed)), faults)
				r := result{seed: seed, err: err}
				if p != nil {
					r.met, r.crashes = p.injector.counts(), p.injector.cloudCrashCounts()
				}
				results <- r
			}
		}()
	}
	return results
}
