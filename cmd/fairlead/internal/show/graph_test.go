package show_test

import (
	"bytes"
	"time"

	. "github.com/onsi/ginkgo/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/component/tree"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

var _ = Describe("Dependencies are shown by", func() {
	held := metav1alpha1.DependentReport{
		Dependent: "ConfigMap shop/late", Reason: result.ReportDependency,
		Message: "waits for Job.batch shop/migrate, which is held up by StatefulSet.apps shop/db: Ready: 0/1",
	}
	updated := metav1alpha1.DependentReport{
		Dependent: "Deployment.apps shop/web", Reason: result.ReportDependency,
		Message: "waits for StatefulSet.apps shop/db: Ready: 0/1",
	}
	key := func(group, kind, name string) manifests.Key {
		return manifests.Key{Group: group, Kind: kind, Namespace: "shop", Name: name}
	}
	nodes := tree.AddFailures([]tree.Node{
		{Key: key("apps", "StatefulSet", "db"), Version: "v1", Wave: 2, State: result.NodeInProgress, Message: "Ready: 0/1"},
		{
			Key: key("", "ConfigMap", "late"), Version: "v1", DependsOn: []string{"Job.batch migrate", "@schema?"},
			State: result.NodeMissing, Reason: tree.ReasonNotCreated, Message: "it was not created yet",
		},
		{
			Key: key("apps", "Deployment", "web"), Version: "v1", DependsOn: []string{"StatefulSet.apps db"},
			State: result.NodeReady,
		},
	}, []metav1alpha1.DependentReport{held, updated})
	progressing := status(metav1alpha1.StateProgressing, metav1.ConditionFalse, metav1alpha1.ReasonDependentsNotReady,
		"waiting until ready: StatefulSet.apps shop/db (Ready: 0/1)")
	progressing.Waiting = []metav1alpha1.DependentReport{
		{Dependent: "StatefulSet.apps shop/db", Wave: 2, Reason: "InProgress", Message: "Ready: 0/1"}, held, updated,
	}
	blocked := status(metav1alpha1.StateDeletionBlocked, metav1.ConditionFalse, metav1alpha1.ReasonDependedOn,
		"no dependent is deleted")
	blocked.Waiting = []metav1alpha1.DependentReport{
		{Dependent: "Component.fairlead.io apps/db", Reason: result.ReportComponentNotReady, Message: "it is not Ready"},
		{
			Dependent: "Component.fairlead.io apps/web", Reason: result.ReportDependedOn,
			Message: "it depends on this component, and is not being deleted",
		},
	}
	printStatus := func(s metav1alpha1.Status) func(show.Output) error {
		return func(o show.Output) error {
			for _, line := range show.NewStatus(shop("shop", time.Hour), s, show.Settings{}).Lines(o, now) {
				if _, err := o.Write([]byte(line + "\n")); err != nil {
					return err
				}
			}
			return nil
		}
	}
	steps := []result.Step{
		{
			Change: result.Change{Key: key("apps", "StatefulSet", "db"), Wave: 2, Reason: "it is new"},
			Effect: result.EffectCreate, Turn: 1,
		},
		{
			Change: result.Change{Key: key("", "ConfigMap", "late"), Reason: "it is new"}, Effect: result.EffectCreate, Turn: 2,
			DependsOn: []string{"Job.batch migrate", "@schema?"},
		},
	}

	DescribeTable("", func(file string, format show.Format, printTo func(show.Output) error) {
		golden(file, func(out *bytes.Buffer) error { return printTo(show.Output{Writer: out, Format: format}) })
	},
		Entry("a tree", "graph-tree.txt", show.FormatTable, show.NewTree(shop("shop", time.Hour), progressing, nodes).Print),
		Entry("a tree in JSON", "graph-tree.json", show.FormatJSON, show.NewTree(shop("shop", time.Hour), progressing,
			nodes).Print),
		Entry("a plan", "graph-plan.txt", show.FormatTable,
			show.NewPlan(shop("shop", time.Hour), result.Forecast{Steps: steps, Revision: 1}, false).Print),
		Entry("an explanation", "graph-why.txt", show.FormatTable, show.Why{
			Object: show.WhyObject{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}, Component: "c",
			Reconciler: "r",
			Recorded:   true, DependsOn: []string{"StatefulSet.apps db"}, HeldUp: "not updated yet: " + updated.Message,
		}.Print),
		Entry("a status", "graph-status.txt", show.FormatTable, printStatus(progressing)),
		Entry("a status with other components", "graph-components.txt", show.FormatTable, printStatus(blocked)),
	)
})
