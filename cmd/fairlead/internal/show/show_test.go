package show_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/dependentcauses"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/show"
	"github.com/fairlead-io/fairlead/cmd/fairlead/internal/terminal"
	"github.com/fairlead-io/fairlead/pkg/component/result"
	"github.com/fairlead-io/fairlead/pkg/component/tree"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func shop(name string, age time.Duration) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion("fairlead.io/v1alpha1")
	obj.SetKind("Component")
	obj.SetNamespace("apps")
	obj.SetName(name)
	obj.SetUID("c0ffee")
	obj.SetGeneration(3)
	obj.SetCreationTimestamp(metav1.NewTime(now.Add(-age)))
	return obj
}

func status(state metav1alpha1.State, ready metav1.ConditionStatus, reason, message string) metav1alpha1.Status {
	return metav1alpha1.Status{
		ObservedGeneration: 3, State: state, Revision: 2,
		Conditions: []metav1.Condition{{Type: metav1alpha1.ConditionReady, Status: ready, Reason: reason, Message: message}},
		Dependents: metav1alpha1.DependentCounts{Total: 5, Ready: 2, Summary: "2/5"},
	}
}

func nodes() []tree.Node {
	node := func(wave int, group, kind, namespace, name string, state result.NodeState, reason, message string) tree.Node {
		key := manifests.Key{Group: group, Kind: kind, Namespace: namespace, Name: name}
		return tree.Node{Key: key, Version: "v1", Wave: wave, State: state, Reason: reason, Message: message}
	}
	found := node(-1, "", "Namespace", "", "shop", result.NodeReady, "", "")
	found.UID = "b0a7"
	return []tree.Node{
		found,
		node(0, "", "Secret", "shop", "db", result.NodeUnknown, tree.ReasonForbidden, `secrets "db" is forbidden`),
		node(0, "apps", "Deployment", "shop", "web", result.NodeInProgress, "", "Available: 0/2\n<waiting>"),
		node(0, "batch", "Job", "shop", "migrate", result.NodeMissing, tree.ReasonNotCreated, "it was not created yet"),
		node(10, "demo.example.com", "Widget", "shop", "w", result.NodeReady, "", ""),
	}
}

// golden compares the written text with a file of testdata. With the flag -update, it rewrites the file.
func golden(file string, write func(out *bytes.Buffer) error) {
	GinkgoHelper()
	var out bytes.Buffer
	Expect(write(&out)).To(Succeed())
	path := filepath.Join("testdata", file)
	if *update {
		Expect(os.WriteFile(path, out.Bytes(), 0o600)).To(Succeed())
	}
	want, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	Expect(out.String()).To(Equal(string(want)))
}

var _ = Describe("Tree", func() {
	progressing := status(metav1alpha1.StateProgressing, metav1.ConditionFalse, metav1alpha1.ReasonDependentsNotReady,
		"waiting until ready: web")

	conflict := status(metav1alpha1.StateProgressing, metav1.ConditionFalse, metav1alpha1.ReasonRepairConflict,
		"repair conflict: Namespace shop (theirs)")
	conflict.Waiting = []metav1alpha1.DependentReport{{
		Dependent: "Namespace shop", Reason: result.ReportRepairConflict,
		Message: `metadata.labels.team is changed repeatedly by "kubectl" (Update)`,
	}}

	refused := []metav1alpha1.DependentReport{
		{Dependent: "Widget.demo.example.com shop/w", Reason: "Invalid", Message: "spec.size: Invalid value: -1"},
		{Dependent: "Deployment.apps shop/web", Reason: "Forbidden", Message: "no rights"},
	}
	old := status(metav1alpha1.StateReady, metav1.ConditionTrue, "Ready", "5 dependents are ready")
	old.Dependents.Ready, old.Dependents.Summary = old.Dependents.Total, "5/5"
	explained := show.NewTree(shop("shop", time.Hour), progressing, nodes())
	explained.AddCauses(map[string][]dependentcauses.Cause{
		"Deployment.apps shop/web": {{
			Object: "Pod shop/web-7d4", Reason: "Unschedulable",
			Message: "0/1 nodes are available",
		}},
	})

	DescribeTable("prints", func(file string, format show.Format, tree show.Tree) {
		golden(file, func(out *bytes.Buffer) error { return tree.Print(show.Output{Writer: out, Format: format}) })
	},
		Entry("a table", "tree.txt", show.FormatTable, show.NewTree(shop("shop", time.Hour), progressing, nodes())),
		Entry("JSON", "tree.json", show.FormatJSON, show.NewTree(shop("shop", time.Hour), progressing, nodes())),
		Entry("a wide table", "tree-wide.txt", show.FormatWide, show.NewTree(shop("shop", time.Hour), progressing, nodes())),
		Entry("names in the form of kubectl", "tree-names.txt", show.FormatName,
			show.NewTree(shop("shop", time.Hour), progressing, nodes())),
		Entry("YAML", "tree.yaml", show.FormatYAML, show.NewTree(shop("shop", time.Hour), progressing, nodes())),
		Entry("a dependent with a repair conflict, from the report in the status", "tree-repair-conflict.txt",
			show.FormatTable,
			show.NewTree(shop("shop", time.Hour), conflict, nodes())),
		Entry("a dependent that is ready, and whose update was refused", "tree-refused.txt", show.FormatTable,
			show.NewTree(shop("shop", time.Hour), progressing, tree.AddFailures(nodes(), refused))),
		Entry("the number of the rows if the status is older", "tree-old.txt", show.FormatTable,
			show.NewTree(shop("shop", time.Hour), old, nodes())),
		Entry("causes one level down", "tree-causes.txt", show.FormatTable, explained),
		Entry("a component that no operator has reconciled", "tree-new.txt", show.FormatTable,
			show.NewTree(shop("shop", 0), metav1alpha1.Status{}, nil)),
		Entry("no dependents as an empty list, not as null", "tree-new.json", show.FormatJSON,
			show.NewTree(shop("shop", 0), metav1alpha1.Status{}, nil)),
	)
})

var _ = Describe("List", func() {
	items := []show.Component{
		show.NewComponent(shop("api", 90*time.Minute),
			status(metav1alpha1.StateReady, metav1.ConditionTrue, "Ready", "5 dependents are ready")),
		show.NewComponent(shop("new", 3*time.Second), metav1alpha1.Status{}),
		show.NewComponent(shop("shop", 50*time.Hour),
			status(metav1alpha1.StateStalled, metav1.ConditionFalse, "GenerateFailed", "line 1\nline 2")),
	}

	DescribeTable("prints", func(file string, format show.Format) {
		golden(file, func(out *bytes.Buffer) error {
			return show.NewList(items).Print(show.Output{Writer: out, Format: format}, now)
		})
	},
		Entry("a table", "list.txt", show.FormatTable),
		Entry("JSON", "list.json", show.FormatJSON),
		Entry("a wide table", "list-wide.txt", show.FormatWide),
		Entry("names in the form of kubectl", "list-names.txt", show.FormatName),
		Entry("YAML", "list.yaml", show.FormatYAML),
	)
})

var _ = Describe("Status", func() {
	full := status(metav1alpha1.StateProgressing, metav1.ConditionFalse, metav1alpha1.ReasonDependentsNotReady,
		"waiting until ready: Deployment.apps shop/web")
	full.Conditions[0].LastTransitionTime = metav1.NewTime(now.Add(-3 * time.Minute))
	full.Conditions = append([]metav1.Condition{{
		Type: metav1alpha1.ConditionRepairConflict, Status: metav1.ConditionTrue, Reason: "RepairConflict", Message: "theirs",
		LastTransitionTime: metav1.NewTime(now.Add(-time.Hour)),
	}}, full.Conditions...)
	full.Reconciler, full.TargetNamespace, full.TargetName, full.Rendition = "fairlead.io", "shop", "shop", 1
	full.InputDigest, full.AppliedDigest = "0123456789abcdef0123", "fedcba9876543210fedc"
	full.AppliedGeneration = 2
	full.ProgressingSince = new(metav1.NewTime(now.Add(-4 * time.Minute)))
	full.Waiting = []metav1alpha1.DependentReport{{
		Wave: 1, Dependent: "Deployment.apps shop/web", Reason: "InProgress",
		Message: "Available: 0/2",
	}}
	full.History = []metav1alpha1.RevisionRecord{
		{Outcome: metav1alpha1.RevisionFailed, Source: "ConfigMap shop-2"},
		{Revision: 2, Source: "ConfigMap shop-1", SourceDigest: "aabbccddeeff00112233"},
	}
	settings := show.Settings{
		Source: "ConfigMap shop-2", Timeout: new(10 * time.Minute), RetryInterval: new(time.Minute),
		Interval: new(10 * time.Hour),
	}

	blocked := status(metav1alpha1.StateDeletionBlocked, metav1.ConditionFalse, metav1alpha1.ReasonForeignInstances,
		"deletion is refused, because team/mine exists")
	blocked.Reconciler = "fairlead.io"
	blocked.Blocked = []metav1alpha1.BlockReport{
		{Type: "Widget.example.com", Count: 2, Names: []string{
			"Widget.example.com team/mine",
			"Widget.example.com team/yours",
		}},
		{Type: "Gizmo.example.com", Message: "it cannot be listed"},
	}
	blocked.Conditions = append(blocked.Conditions, metav1.Condition{
		Type: metav1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: metav1alpha1.ReasonForeignInstances,
		Message: "deletion is refused, because team/mine exists",
	})
	deleted := shop("shop", time.Hour)
	deleted.SetDeletionTimestamp(new(metav1.NewTime(now.Add(-time.Minute))))
	deleted.SetFinalizers([]string{"fairlead.io/finalizer", "example.com/backup"})

	It("names the finalizers of other controllers only", func() {
		renamed := *blocked.DeepCopy()
		renamed.Finalizers = []string{"example.com/backup"}
		Expect(show.NewStatus(deleted, blocked, settings).Blockers).
			To(ContainElement(ContainSubstring("finalizer example.com/backup")))
		Expect(show.NewStatus(deleted, renamed, settings).Blockers).NotTo(ContainElement(ContainSubstring("finalizer")))
	})

	DescribeTable("prints", func(file string, format show.Format, s show.Status) {
		golden(file, func(out *bytes.Buffer) error { return s.Print(show.Output{Writer: out, Format: format}, now) })
	},
		Entry("the dependents that the component waits for, with reasons", "status.txt", show.FormatTable,
			show.NewStatus(shop("shop", time.Hour), full, settings)),
		Entry("a wide table", "status-wide.txt", show.FormatWide, show.NewStatus(shop("shop", time.Hour), full, settings)),
		Entry("JSON", "status.json", show.FormatJSON, show.NewStatus(shop("shop", time.Hour), full, settings)),
		Entry("a blocked deletion", "status-blocked.txt", show.FormatTable, show.NewStatus(deleted, blocked, settings)),
		Entry("a component that no operator has reconciled", "status-new.txt", show.FormatTable,
			show.NewStatus(shop("shop", 0), metav1alpha1.Status{}, show.Settings{})),
		Entry("empty lists, not null", "status-new.json", show.FormatJSON,
			show.NewStatus(shop("shop", 0), metav1alpha1.Status{}, show.Settings{})),
	)
})

var _ = Describe("History", func() {
	known := status(metav1alpha1.StateReady, metav1.ConditionTrue, "Ready", "")
	known.History = []metav1alpha1.RevisionRecord{
		{
			Revision: 3, Generation: 4, Outcome: metav1alpha1.RevisionProgressing,
			Started: metav1.NewTime(now.Add(-time.Minute)), Digest: "0123", Source: "ConfigMap shop-2", SourceDigest: "4567",
			SourceVersion: "shop-1.1.0",
			Changes:       []string{"image.tag: 1.0 → 1.1", "replicas: 1 → 2", "Secret db: password: changed"},
		},
		{
			Generation: 3, Outcome: metav1alpha1.RevisionFailed, Reason: "GenerateFailed",
			Started: metav1.NewTime(now.Add(-30 * time.Minute)), Digest: "89ab", Source: "ConfigMap shop-3",
			Changes: []string{"replicas: removed"},
		},
		{
			Revision: 2, Generation: 2, Outcome: metav1alpha1.RevisionFailed, Reason: "Timeout", SourceVersion: "shop-1.0.0",
			Started: metav1.NewTime(now.Add(-2 * time.Hour)), Ended: new(metav1.NewTime(now.Add(-time.Hour))),
		},
		{
			Revision: 1, Generation: 1, Outcome: metav1alpha1.RevisionReady, Started: metav1.NewTime(now.Add(-50 * time.Hour)),
			Ended:   new(metav1.NewTime(now.Add(-49 * time.Hour))),
			Adopted: []string{"ConfigMap shop/settings from the Helm release shop/shop"}, AdoptedCount: 12,
		},
	}

	DescribeTable("prints", func(file string, format show.Format) {
		golden(file, func(out *bytes.Buffer) error {
			return show.NewHistory(shop("shop", time.Hour), known).Print(show.Output{Writer: out, Format: format}, now)
		})
	},
		Entry("a table", "history.txt", show.FormatTable),
		Entry("a wide table", "history-wide.txt", show.FormatWide),
		Entry("YAML", "history.yaml", show.FormatYAML),
	)
})

var _ = Describe("Output", func() {
	It("refuses formats that a command does not have", func() {
		_, err := show.ParseFormat("jsonpath", show.Formats)
		Expect(err).To(MatchError(`output format "jsonpath": want wide, name, json or yaml`))
		_, err = show.ParseFormat("name", show.Documents)
		Expect(err).To(MatchError(`output format "name": want json or yaml`))
	})

	It("colours states if colours are enabled, and colours no text of the cluster", func() {
		hostile := status(metav1alpha1.StateStalled, metav1.ConditionFalse, "GenerateFailed", "\x1b[2Jgone")
		var out bytes.Buffer
		list := show.NewList([]show.Component{show.NewComponent(shop("shop", time.Hour), hostile)})
		Expect(list.Print(show.Output{Writer: &out, Palette: terminal.Coloured()}, now)).To(Succeed())
		Expect(out.String()).To(And(ContainSubstring("\x1b[31mStalled\x1b[0m"), ContainSubstring("�[2Jgone"),
			Not(ContainSubstring("\x1b[2J"))))
	})

	It("aligns columns with and without colours", func() {
		var coloured, plain bytes.Buffer
		list := show.NewList([]show.Component{
			show.NewComponent(shop("shop", time.Hour), status(metav1alpha1.StateReady, metav1.ConditionTrue, "Ready", "")),
			show.NewComponent(shop("größer", time.Hour), metav1alpha1.Status{}),
		})
		Expect(list.Print(show.Output{Writer: &coloured, Palette: terminal.Coloured()}, now)).To(Succeed())
		Expect(list.Print(show.Output{Writer: &plain}, now)).To(Succeed())
		Expect(regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(coloured.String(), "")).To(Equal(plain.String()))
	})
})
