package conformance_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/componenttest"
	"github.com/fairlead-io/fairlead/test/gadget"
)

func keyOf(o client.Object) client.ObjectKey { return client.ObjectKeyFromObject(o) }

// stateSecrets returns the Secrets with states of externals in a namespace.
func stateSecrets(ctx context.Context, namespace string) []corev1.Secret {
	GinkgoHelper()
	var list corev1.SecretList
	Expect(k8s.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
	var found []corev1.Secret
	for _, s := range list.Items {
		if strings.HasPrefix(s.Name, "externals-") {
			found = append(found, s)
		}
	}
	return found
}

// stateSecret returns the Secret with the states of the externals of a component.
func stateSecret(ctx context.Context, g *gadget.Gadget) *corev1.Secret {
	GinkgoHelper()
	for _, s := range stateSecrets(ctx, g.Namespace) {
		for _, annotation := range s.Annotations {
			if strings.HasSuffix(annotation, "/"+g.Name) {
				return &s
			}
		}
	}
	Fail("there is no Secret with the states of " + g.Name)
	return nil
}

// putData replaces the data of a Secret, and its annotations, by those of another version.
func putData(ctx context.Context, name client.ObjectKey, from *corev1.Secret) {
	GinkgoHelper()
	Eventually(ctx, func() error {
		var s corev1.Secret
		if err := k8s.Get(ctx, name, &s); err != nil {
			return err
		}
		s.Data, s.Annotations = from.Data, from.Annotations
		return k8s.Update(ctx, &s)
	}).Should(Succeed())
}

// removeSecret deletes a Secret in spite of its finalizers.
func removeSecret(ctx context.Context, s *corev1.Secret) {
	GinkgoHelper()
	Expect(client.IgnoreNotFound(k8s.Delete(ctx, s))).To(Succeed())
	Eventually(ctx, func() error {
		var live corev1.Secret
		if err := k8s.Get(ctx, keyOf(s), &live); err != nil {
			return client.IgnoreNotFound(err)
		}
		live.Finalizers = nil
		return client.IgnoreNotFound(k8s.Update(ctx, &live))
	}).Should(Succeed())
}

var _ = Describe("Damaged states of externals:", slow, func() {
	// damage is what happens to the Secret of the component shop. older is its content before the external was created
	// again, and other is another component with externals.
	type damage func(ctx context.Context, shop, other *gadget.Gadget, older *corev1.Secret)
	damages := map[string]damage{
		"a value is edited": func(ctx context.Context, shop, _ *gadget.Gadget, _ *corev1.Secret) {
			s := stateSecret(ctx, shop)
			for key, value := range s.Data {
				if key == "_index" {
					continue
				}
				text := strings.Replace(string(value), `"id":"`, `"id":"foreign`, 1)
				if text == string(value) { // The external has no id yet.
					text = strings.Replace(text, `"token":"`, `"token":"f`, 1)
				}
				s.Data[key] = []byte(text)
			}
			putData(ctx, keyOf(s), s)
		},
		"the id is replaced by that of a foreign external": func(ctx context.Context, shop, _ *gadget.Gadget,
			_ *corev1.Secret,
		) {
			s := stateSecret(ctx, shop)
			for key, value := range s.Data {
				if text := string(value); key != "_index" && strings.Contains(text, `"id":"`) {
					from := strings.Index(text, `"id":"`) + len(`"id":"`)
					to := from + strings.Index(text[from:], `"`)
					s.Data[key] = []byte(text[:from] + foreignThing.ID + text[to:])
				}
			}
			putData(ctx, keyOf(s), s)
		},
		"an older version is restored": func(ctx context.Context, shop, _ *gadget.Gadget, older *corev1.Secret) {
			putData(ctx, keyOf(stateSecret(ctx, shop)), older)
		},
		"the Secrets of two components are exchanged": func(ctx context.Context, shop, other *gadget.Gadget,
			_ *corev1.Secret,
		) {
			a, b := stateSecret(ctx, shop), stateSecret(ctx, other)
			aKey, bKey := keyOf(a), keyOf(b)
			putData(ctx, aKey, &corev1.Secret{Data: b.Data, ObjectMeta: a.ObjectMeta})
			putData(ctx, bKey, &corev1.Secret{Data: a.Data, ObjectMeta: b.ObjectMeta})
		},
		"the label and the annotation of the Secret are removed": func(ctx context.Context, shop, _ *gadget.Gadget,
			_ *corev1.Secret,
		) {
			s := stateSecret(ctx, shop)
			markEdits["both are removed"](s, shop.Labels[operatorLabel]+"/record-of")
			Expect(k8s.Update(ctx, s, client.FieldOwner(backupTool))).To(Succeed())
		},
		"all labels and annotations of the Secret are removed": func(ctx context.Context, shop, _ *gadget.Gadget,
			_ *corev1.Secret,
		) {
			s := stateSecret(ctx, shop)
			s.Labels, s.Annotations = nil, nil
			Expect(k8s.Update(ctx, s, client.FieldOwner(backupTool))).To(Succeed())
		},
		"the Secret is removed": func(ctx context.Context, shop, _ *gadget.Gadget, _ *corev1.Secret) {
			removeSecret(ctx, stateSecret(ctx, shop))
		},
	}
	var entries []TableEntry
	for _, kind := range []string{"Thing", "FindableThing", "NamedThing", "RepeatableThing"} {
		for name := range damages {
			entries = append(entries, Entry(fmt.Sprintf("%s, while it runs: %s", kind, name), kind, name, false),
				Entry(fmt.Sprintf("%s, over a restart: %s", kind, name), kind, name, true))
		}
	}

	// Over a restart, nothing shows that the Secret is older.
	const bothOlder = "an older version is restored, and the record in the status is removed"
	damages[bothOlder] = func(ctx context.Context, shop, _ *gadget.Gadget, older *corev1.Secret) {
		putData(ctx, keyOf(stateSecret(ctx, shop)), older)
		edited{Gadget: shop}.damage(ctx, []string{
			"inventory", "inventoryDigest", "inventoryWrites",
			"recordDigest",
		}, func(string) any { return nil })
	}
	for _, kind := range []string{"Thing", "FindableThing", "NamedThing", "RepeatableThing"} {
		entries = append(entries, Entry(fmt.Sprintf("%s, while it runs: %s", kind, bothOlder), kind, bothOlder, false))
	}

	DescribeTable("no external is lost, doubled or taken from others", func(ctx SpecContext, kind, name string,
		restart bool,
	) {
		cloud, operator := componenttest.NewCloud(), newOperatorName()
		cloud.Put(foreignThing)
		namespace := newNamespace(ctx)
		stop := runCloud(cloud, operator)
		shop := newGadget(ctx, namespace, "shop", thing(kind, "one", "a"), servedBy(operator))
		other := newGadget(ctx, namespace, "other", thing(kind, "two", "x"), servedBy(operator))
		expectReady(ctx, shop)
		expectReady(ctx, other)
		older := stateSecret(ctx, shop)
		for _, t := range cloud.Things() {
			if t.Value == "a" {
				cloud.Remove(t.ID)
			}
		}
		Eventually(func() []string { return ownThings(cloud) }).Should(ConsistOf("a", "x"))
		Eventually(ctx, func() string { return string(stateSecret(ctx, shop).Data["_index"]) }).
			ShouldNot(Equal(string(older.Data["_index"])))
		expectReady(ctx, shop)
		settle(ctx, operator)

		if restart {
			stop()
		}
		damages[name](ctx, shop, other, older)
		changeManifests(ctx, shop, thing(kind, "one", "b"))
		changeManifests(ctx, other, thing(kind, "two", "y"))
		if restart {
			runCloud(cloud, operator)
		}
		expectResolved(ctx, shop, operator, cloud)
		expectResolved(ctx, other, operator, cloud)
		Eventually(func() []string { return ownThings(cloud) }).Should(ConsistOf("b", "y"))
		Expect(cloud.Effects("Create")).To(Equal(3))
		remove(ctx, other)
		expectNotFound(ctx, other)
		Expect(ownThings(cloud)).To(Equal([]string{"b"}))
		expectDeleted(ctx, shop, operator, cloud)
	}, entries)

	// moments interrupt the component shop, which has the external one, with the external two. Each returns the values of
	// the externals of the component afterwards. An update records nothing before its call, so the table above contains
	// it.
	type moment func(ctx context.Context, kind string, shop *gadget.Gadget, stop func(), kill func(killed),
		vanish func(value string)) []string
	both := func(kind, second, value string) string { return thing(kind, "one", "a") + thing(kind, second, value) }
	moments := map[string]moment{
		"a create is uncertain": func(ctx context.Context, kind string, shop *gadget.Gadget, stop func(), kill func(killed),
			_ func(string),
		) []string {
			stop()
			changeManifests(ctx, shop, both(kind, "two", "b"))
			kill(killed{call: "Create", effect: true})
			return []string{"a", "b"}
		},
		"a second create is uncertain": func(ctx context.Context, kind string, shop *gadget.Gadget, stop func(),
			kill func(killed), vanish func(string),
		) []string {
			changeManifests(ctx, shop, both(kind, "two", "b"))
			expectReady(ctx, shop)
			stop()
			vanish("b")
			kill(killed{call: "Create", effect: true})
			return []string{"a", "b"}
		},
		"a rename deletes": func(ctx context.Context, kind string, shop *gadget.Gadget, stop func(), kill func(killed),
			_ func(string),
		) []string {
			changeManifests(ctx, shop, both(kind, "two", "b"))
			expectReady(ctx, shop)
			stop()
			changeManifests(ctx, shop, both(kind, "three", "c"))
			kill(killed{call: "Delete", effect: true})
			return []string{"a", "c"}
		},
		"its component is deleted": func(ctx context.Context, kind string, shop *gadget.Gadget, stop func(),
			kill func(killed), _ func(string),
		) []string {
			changeManifests(ctx, shop, both(kind, "two", "b"))
			expectReady(ctx, shop)
			stop()
			remove(ctx, shop)
			kill(killed{call: "Delete"})
			return nil
		},
	}
	var interrupted []TableEntry
	for _, kind := range []string{"Thing", "FindableThing", "NamedThing", "RepeatableThing"} {
		for when := range moments {
			if kind == "RepeatableThing" && !strings.HasSuffix(when, "create is uncertain") {
				continue // It differs from a Thing only while its create is uncertain.
			}
			for name := range damages {
				if name == bothOlder {
					continue
				}
				interrupted = append(interrupted, Entry(fmt.Sprintf("%s, while %s: %s", kind, when, name), kind, when, name))
			}
		}
	}

	DescribeTable("no external is lost, doubled or taken from others if the operator was killed "+
		"before the damage", func(ctx SpecContext, kind, when, name string) {
		cloud, operator := componenttest.NewCloud(), newOperatorName()
		cloud.Put(foreignThing)
		namespace := newNamespace(ctx)
		stop := runCloud(cloud, operator)
		shop := newGadget(ctx, namespace, "shop", thing(kind, "one", "a"), servedBy(operator))
		other := newGadget(ctx, namespace, "other", thing(kind, "four", "x"), servedBy(operator))
		expectReady(ctx, shop)
		expectReady(ctx, other)
		older := stateSecret(ctx, shop)
		kill := func(k killed) { k.kill(ctx, operator, namespace, cloud) }
		vanish := func(value string) {
			for _, t := range cloud.Things() {
				if t.Value == value {
					cloud.Remove(t.ID)
				}
			}
		}
		wanted := moments[when](ctx, kind, shop, stop, kill, vanish)
		created := cloud.Effects("Create")

		damages[name](ctx, shop, other, older)
		runCloud(cloud, operator)
		Eventually(ctx, func() string {
			resolveByCloud(ctx, shop, operator, cloud) // The inventory contains the token of an uncertain create, too.
			latest := &gadget.Gadget{}
			if err := k8s.Get(ctx, keyOf(shop), latest); err != nil {
				return err.Error()
			}
			return condition(latest, metav1alpha1.ConditionReady)
		}).WithPolling(100 * time.Millisecond).
			Should(ContainSubstring(map[bool]string{true: "not found", false: "True Ready"}[wanted == nil]))
		expectResolved(ctx, other, operator, cloud)
		Eventually(func() []string { return ownThings(cloud) }).Should(ConsistOf(append(wanted, "x")))
		Expect(cloud.Effects("Create")).To(Equal(created))
		if wanted != nil {
			remove(ctx, shop)
			expectNotFound(ctx, shop)
		}
		expectDeleted(ctx, other, operator, cloud)
	}, interrupted)

	var late []TableEntry
	for name := range damages {
		if name == bothOlder {
			continue
		}
		late = append(late, Entry(name, name))
	}
	DescribeTable("a create that takes effect after the operator was killed and its state was damaged is "+
		"not made again", func(ctx SpecContext, name string) {
		cloud, operator := componenttest.NewCloud(), newOperatorName()
		cloud.Put(foreignThing)
		namespace := newNamespace(ctx)
		stop := runCloud(cloud, operator)
		shop := newGadget(ctx, namespace, "shop", thing("FindableThing", "one", "a"), servedBy(operator))
		other := newGadget(ctx, namespace, "other", thing("FindableThing", "four", "x"), servedBy(operator))
		expectReady(ctx, shop)
		expectReady(ctx, other)
		older := stateSecret(ctx, shop)
		stop()
		changeManifests(ctx, shop, both("FindableThing", "two", "b"))
		takeEffect := killed{call: "Create", hang: true}.kill(ctx, operator, namespace, cloud)
		damages[name](ctx, shop, other, older)
		found := cloud.Calls("Find")
		runCloud(cloud, operator)
		Eventually(func() int { return cloud.Calls("Find") }).Should(BeNumerically(">", found))
		Consistently(func() int { return cloud.Calls("Create") }, 10*quick.Settle).Should(Equal(3),
			"the previous call may still take effect")
		takeEffect()
		expectResolved(ctx, shop, operator, cloud)
		expectResolved(ctx, other, operator, cloud)
		Expect(ownThings(cloud)).To(ConsistOf("a", "b", "x"))
		Expect(cloud.Effects("Create")).To(Equal(3))
		remove(ctx, shop)
		expectNotFound(ctx, shop)
		expectDeleted(ctx, other, operator, cloud)
	}, late)
})
