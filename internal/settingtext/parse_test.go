package settingtext_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/fuzzing"
	"github.com/fairlead-io/fairlead/internal/settingtext"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

const reconciler = "shop.example.com"

func TestSettings(t *testing.T) {
	for _, c := range []struct {
		name        string
		annotations map[string]string
		want        manifests.Settings
	}{
		{"no settings", nil, manifests.Settings{}},
		{"annotations with other prefixes are " +
			"ignored", map[string]string{
			"/order": "x", "other.example.com/order": "x", "shop.example.com": "x",
			"shop.example.community/order": "x",
		}, manifests.Settings{}},
		{"an order", map[string]string{"order": "7"}, manifests.Settings{Order: 7}},
		{"an order below zero", map[string]string{"order": "-7"}, manifests.Settings{Order: -7}},
		{"the lowest order", map[string]string{"order": "-32768"}, manifests.Settings{Order: -32768}},
		{"the highest order", map[string]string{"order": "32767"}, manifests.Settings{Order: 32767}},
		{"the alias of the order", map[string]string{"apply-order": "7"}, manifests.Settings{Order: 7}},
		{"the order and an equal alias", map[string]string{"order": "7", "apply-order": "7"}, manifests.Settings{Order: 7}},
		{"the order and an equal alias in another " +
			"notation", map[string]string{"order": "7", "apply-order": "+07"}, manifests.Settings{Order: 7}},
		{"a delete order", map[string]string{"delete-order": "-3"}, manifests.Settings{DeleteOrder: new(-3)}},
		{"a delete order of zero differs from " +
			"none", map[string]string{"delete-order": "0"}, manifests.Settings{DeleteOrder: new(0)}},
		{"the default update policy", map[string]string{"update-policy": "default"}, manifests.Settings{}},
		{
			"replace",
			map[string]string{"update-policy": "replace"},
			manifests.Settings{UpdatePolicy: metav1alpha1.UpdateReplace},
		},
		{
			"recreate",
			map[string]string{"update-policy": "recreate"},
			manifests.Settings{UpdatePolicy: metav1alpha1.UpdateRecreate},
		},
		{
			"ssa-merge",
			map[string]string{"update-policy": "ssa-merge"},
			manifests.Settings{UpdatePolicy: metav1alpha1.UpdateSSAMerge},
		},
		{
			"ssa-override",
			map[string]string{"update-policy": "ssa-override"},
			manifests.Settings{UpdatePolicy: metav1alpha1.UpdateSSAOverride},
		},
		{
			"if-unowned",
			map[string]string{"adoption-policy": "if-unowned"},
			manifests.Settings{AdoptionPolicy: metav1alpha1.AdoptIfUnowned},
		},
		{"never", map[string]string{"adoption-policy": "never"}, manifests.Settings{AdoptionPolicy: metav1alpha1.AdoptNever}},
		{
			"on-object-change",
			map[string]string{"reconcile-policy": "on-object-change"},
			manifests.Settings{ReconcilePolicy: metav1alpha1.ReconcileOnObjectChange},
		},
		{
			"once",
			map[string]string{"reconcile-policy": "once"},
			manifests.Settings{ReconcilePolicy: metav1alpha1.ReconcileOnce},
		},
		{"delete", map[string]string{"delete-policy": "delete"}, manifests.Settings{DeletePolicy: metav1alpha1.DeleteDelete}},
		{"the phase of applying", map[string]string{"phase": "apply"}, manifests.Settings{}},
		{
			"the phase before a deletion",
			map[string]string{"phase": "pre-delete"},
			manifests.Settings{Phase: manifests.PhasePreDelete},
		},
		{
			"the phase after a deletion",
			map[string]string{"phase": "post-delete"},
			manifests.Settings{Phase: manifests.PhasePostDelete},
		},
		{
			"always",
			map[string]string{"adoption-policy": "always"},
			manifests.Settings{AdoptionPolicy: metav1alpha1.AdoptAlways},
		},
		{
			"on-object-or-component-change",
			map[string]string{"reconcile-policy": "on-object-or-component-change"},
			manifests.Settings{ReconcilePolicy: metav1alpha1.ReconcileOnObjectOrComponentChange},
		},
		{"orphan", map[string]string{"delete-policy": "orphan"}, manifests.Settings{DeletePolicy: metav1alpha1.DeleteOrphan}},
		{
			"orphan-on-apply",
			map[string]string{"delete-policy": "orphan-on-apply"},
			manifests.Settings{DeletePolicy: metav1alpha1.DeleteOrphanOnApply},
		},
		{
			"orphan-on-delete",
			map[string]string{"delete-policy": "orphan-on-delete"},
			manifests.Settings{DeletePolicy: metav1alpha1.DeleteOrphanOnDelete},
		},
		{"a purge order equal to the " +
			"order", map[string]string{"order": "2", "purge-order": "2"}, manifests.Settings{Order: 2, PurgeOrder: new(2)}},
		{"a purge of failures", map[string]string{"purge-failed": "true"}, manifests.Settings{PurgeFailed: true}},
		{"no purge of failures", map[string]string{"purge-failed": "false"}, manifests.Settings{}},
		{"a timeout", map[string]string{"timeout": "5m"}, manifests.Settings{Timeout: 5 * time.Minute}},
		{
			"a reapply interval",
			map[string]string{"reapply-interval": "90m"},
			manifests.Settings{ReapplyInterval: new(90 * time.Minute)},
		},
		{
			"a reapply interval of zero, which disables " +
				"reapplying",
			map[string]string{"reapply-interval": "0"},
			manifests.Settings{ReapplyInterval: new(time.Duration(0))},
		},
		{
			"all status hints",
			map[string]string{"status-hint": "has-observed-generation, has-ready-condition,conditions=Synced;Healthy"},
			manifests.Settings{Rare: &manifests.RareSettings{Hints: manifests.StatusHints{
				HasObservedGeneration: true,
				HasReadyCondition:     true, Conditions: []string{"Synced", "Healthy"},
			}}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := settingtext.Parse(reconciler, prefixed(c.annotations))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// prefixed adds the reconciler's prefix to the names of settings. Names with another prefix or an empty prefix are not
// changed.
func prefixed(annotations map[string]string) map[string]string {
	out := map[string]string{}
	for name, value := range annotations {
		if !strings.ContainsAny(name, "./") {
			name = reconciler + "/" + name
		}
		out[name] = value
	}
	return out
}

func TestSettingsErrors(t *testing.T) {
	const notOne = "is not an allowed value: "
	const notWhole = "is not a whole number from -32768 to 32767"
	for _, c := range []struct {
		name        string
		annotations map[string]string
		want        string
	}{
		{"an order that is no number", map[string]string{"order": "first"}, `order: "first" ` + notWhole},
		{"an empty order", map[string]string{"order": ""}, `order: "" ` + notWhole},
		{"an order with a fraction", map[string]string{"order": "1.5"}, `order: "1.5" ` + notWhole},
		{"an order with a space", map[string]string{"order": " 1"}, `order: " 1" ` + notWhole},
		{"an order below the bounds", map[string]string{"order": "-32769"}, `order: "-32769" ` + notWhole},
		{"an order above the bounds", map[string]string{"order": "32768"}, `order: "32768" ` + notWhole},
		{"an alias above the bounds", map[string]string{"apply-order": "32768"}, `apply-order: "32768" ` + notWhole},
		{"a delete order above the bounds", map[string]string{"delete-order": "32768"}, `delete-order: "32768" ` + notWhole},
		{
			"two orders that differ",
			map[string]string{"order": "1", "apply-order": "2"},
			"order: is 1, but its alias apply-order is 2; remove one of them",
		},
		{
			"an unknown update policy",
			map[string]string{"update-policy": "patch"},
			`update-policy: "patch" ` + notOne + "default, replace, recreate, ssa-merge, ssa-override",
		},
		{
			"an empty update policy",
			map[string]string{"update-policy": ""},
			`update-policy: "" ` + notOne + "default, replace, recreate, ssa-merge, ssa-override",
		},
		{
			"an update policy in upper case",
			map[string]string{"update-policy": "Replace"},
			`update-policy: "Replace" ` + notOne + "default, replace, recreate, ssa-merge, ssa-override",
		},
		{
			"an unknown adoption policy",
			map[string]string{"adoption-policy": "ever"},
			`adoption-policy: "ever" ` + notOne + "if-unowned, never, always",
		},
		{
			"an unknown reconcile policy",
			map[string]string{"reconcile-policy": "x"},
			`reconcile-policy: "x" ` + notOne +
				"on-object-change, on-object-or-component-change, once, create-only, update-only, always, observe",
		},
		{
			"an unknown delete policy",
			map[string]string{"delete-policy": "keep"},
			`delete-policy: "keep" ` + notOne + "delete, orphan, orphan-on-apply, orphan-on-delete",
		},
		{
			"an unknown prune policy",
			map[string]string{"prune-policy": "now"},
			`prune-policy: "now" ` + notOne + "when-ready, at-once",
		},
		{
			"an object that is never created, and recreated when it changes",
			map[string]string{"reconcile-policy": "update-only", "update-policy": "recreate"},
			"reconcile-policy: update-only does not create the object, so update-policy recreate cannot be used with it; " +
				"remove one of them",
		},
		{
			"an unknown phase",
			map[string]string{"phase": "test"},
			`phase: "test" ` + notOne + "apply, pre-delete, post-delete",
		},
		{
			"a phase order without a " +
				"phase",
			map[string]string{"phase-order": "1"},
			"phase-order: has no effect, because phase names no phase of the deletion; use order",
		},
		{
			"a purge order before the " +
				"order",
			map[string]string{"order": "2", "purge-order": "1"},
			"purge-order: 1 is before order 2: it would be purged before it is applied",
		},
		{
			"a reapply interval without " +
				"unit",
			map[string]string{"reapply-interval": "10"},
			`reapply-interval: "10" is neither a duration such as 30m nor 0, which disables it`,
		},
		{
			"a timeout without a unit",
			map[string]string{"timeout": "5"},
			`timeout: "5" is neither a duration such as 30m nor 0, which disables it`,
		},
		{
			"a negative reapply interval",
			map[string]string{"reapply-interval": "-1h"},
			`reapply-interval: "-1h" is neither a duration such as 30m nor 0, which disables it`,
		},
		{
			"a condition with an error",
			map[string]string{"ready-when": "self.status.phase == other"},
			`ready-when: expression "self.status.phase == other": line 1, column 22: undeclared reference to 'other' (in container '')`,
		},
		{
			"a condition that does not read the object",
			map[string]string{"ready-when": "1 == 1"},
			`ready-when: expression "1 == 1": it does not read self, so its value never changes`,
		},
		{
			"a condition in Go without a name",
			map[string]string{"ready-when": "go/"},
			`ready-when: "go/" names no condition; write go/<name>`,
		},
		{
			"an unknown status hint",
			map[string]string{"status-hint": "has-status"},
			`status-hint: "has-status" is none of has-observed-generation, has-ready-condition, conditions=A;B`,
		},
		{
			"an empty status hint",
			map[string]string{"status-hint": ""},
			`status-hint: "" is none of has-observed-generation, has-ready-condition, conditions=A;B`,
		},
		{
			"a status hint with an empty " +
				"condition",
			map[string]string{"status-hint": "conditions=A;"},
			`status-hint: "conditions=A;" names an empty condition; write conditions=A;B`,
		},
		{
			"a setting with an unknown name",
			map[string]string{"oder": "1"},
			"oder: is not a setting; settings are reconcile-policy, update-policy, adoption-policy, delete-policy, " +
				"purge-order, delete-order, reapply-interval, include-when, active-when, purge-failed, timeout, order, " +
				"apply-order, phase, phase-order, depends-on, depends-on-group, depends-on-timeout, prune-policy, ignore, " +
				"status-hint, ready-when, export, bind, external-id, gone-when",
		},
		{
			"the owner id that the reconciler writes",
			map[string]string{"owner-id": "x"},
			"owner-id: is written by the reconciler; remove it from the manifest",
		},
		{"the digest that the reconciler " +
			"writes", map[string]string{"digest": "x"}, "digest: is written by the reconciler; remove it from the manifest"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := settingtext.Parse(reconciler, prefixed(c.annotations))
			if want := "annotation " + reconciler + "/" + c.want; err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
	t.Run("all mistakes are reported together, in a stable order", func(t *testing.T) {
		for range 10 {
			_, err := settingtext.Parse(
				"x",
				map[string]string{"x/order": "a", "x/phase": "b", "x/zzz": "", "x/aaa": ""},
			)
			var names []string
			for line := range strings.Lines(err.Error()) {
				names = append(names, strings.Split(strings.TrimPrefix(line, "annotation x/"), ":")[0])
			}
			if diff := cmp.Diff([]string{"order", "phase", "aaa", "zzz"}, names); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

func FuzzSettings(f *testing.F) {
	f.Add("order", "7", "apply-order", "7")
	f.Add("delete-order", "-32769", "update-policy", "replace")
	f.Add("owner-id", "", "\xff", "\x00")
	fuzzing.Run(f, func(t *testing.T, name, value, secondName, secondValue string) {
		got, err := settingtext.Parse(
			reconciler,
			map[string]string{reconciler + "/" + name: value, reconciler + "/" + secondName: secondValue},
		)
		if err != nil {
			return
		}
		if got.Order < settingtext.MinOrder || got.Order > settingtext.MaxOrder {
			t.Errorf("the order is %d", got.Order)
		}
		// The parsed settings are written to annotations again. These annotations must parse to equal settings.
		again := map[string]string{reconciler + "/order": strconv.Itoa(got.Order)}
		if got.DeleteOrder != nil {
			again[reconciler+"/delete-order"] = strconv.Itoa(*got.DeleteOrder)
		}
		for key, policy := range map[string]string{
			"update-policy": string(got.UpdatePolicy), "adoption-policy": string(got.AdoptionPolicy),
			"reconcile-policy": string(got.ReconcilePolicy),
		} {
			if policy != "" {
				again[reconciler+"/"+key] = policy
			}
		}
		second, err := settingtext.Parse(reconciler, again)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got, second); diff != "" {
			t.Error(diff)
		}
	})
}
