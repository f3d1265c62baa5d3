package externalstate

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	metav1alpha1 "github.com/fairlead-io/fairlead/api/meta/v1alpha1"
	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

func TestStatesAreReadAsTheyWereWritten(t *testing.T) {
	g := NewWithT(t)
	c, app := newCluster(t), owner("app")
	empty := c.load(app)
	g.Expect(c.sent()).To(Equal([]string{"list ", "get " + nameOf(app, 0).Name}))
	long := manifests.Key{Group: manifests.ExternalGroup, Kind: strings.Repeat("K", 63), Name: strings.Repeat("a", 253)}
	gone := &State{Token: created(3).Token, Gone: true}
	want := map[manifests.Key]State{key("a"): *created(1), key("b"): *intended(2), key("c"): *gone, long: *created(4)}
	written := c.write(empty, map[manifests.Key]*State{
		key("a"): created(1), key("b"): intended(2), key("c"): gone, long: created(4),
	})
	g.Expect(c.sent()).To(Equal([]string{"create " + nameOf(app, 0).Name}))
	g.Expect(written.States()).To(Equal(want))
	g.Expect(empty.States()).To(BeEmpty())

	loaded := c.load(app)
	g.Expect(c.sent()).To(Equal([]string{"list ", "get " + nameOf(app, 0).Name}))
	g.Expect(loaded).To(Equal(written))
	g.Expect(loaded.Damaged()).To(BeEmpty())
	g.Expect(secretCause(loaded)).To(BeEmpty())

	next := c.write(loaded, map[manifests.Key]*State{
		key("a"): nil, key("b"): created(2), key("d"): intended(5),
		key("x"): nil,
	})
	g.Expect(c.sent()).To(Equal([]string{"patch " + nameOf(app, 0).Name}))
	delete(want, key("a"))
	want[key("b")], want[key("d")] = *created(2), *intended(5)
	g.Expect(next.States()).To(Equal(want))
	g.Expect(c.load(app)).To(Equal(next))
	g.Expect(loaded.States()).To(HaveKey(key("a")), "a record must not change")

	c.sent()
	same, err := c.Load(t.Context(), app, next)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(same).To(Equal(next))
	g.Expect(c.sent()).To(Equal([]string{"list "}))
	g.Expect(c.write(next, nil)).To(BeIdenticalTo(next))
	g.Expect(c.sent()).To(BeEmpty())
}

func TestTheFormOfASecret(t *testing.T) {
	g := NewWithT(t)
	c, app := newCluster(t), owner("app")
	c.write(c.load(app), map[manifests.Key]*State{
		key("orders"): created(1), key("users"): intended(2), key("old"): {Token: created(3).Token, Gone: true},
	})
	secret := &corev1.Secret{}
	g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(c.secret(app, 0).Object, secret)).To(Succeed())
	secret.ManagedFields, secret.UID, secret.StringData = nil, "", map[string]string{}
	for dataKey, data := range secret.Data {
		secret.StringData[dataKey] = string(data)
	}
	secret.Data = nil
	got, err := yaml.Marshal(secret)
	g.Expect(err).NotTo(HaveOccurred())
	if *update {
		g.Expect(os.WriteFile("testdata/secret.yaml", got, 0o600)).To(Succeed())
	}
	golden, err := os.ReadFile("testdata/secret.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(got)).To(Equal(string(golden)))
}

func TestOfTwoWritersOneGetsAConflict(t *testing.T) {
	app := owner("app")
	for name, test := range map[string]struct {
		before, first, second map[manifests.Key]*State
	}{
		"both create the Secret": {
			nil,
			map[manifests.Key]*State{key("a"): intended(1)},
			map[manifests.Key]*State{key("b"): intended(2)},
		},
		"both change the Secret": {
			map[manifests.Key]*State{key("a"): intended(1)},
			map[manifests.Key]*State{key("a"): created(1)},
			map[manifests.Key]*State{key("b"): intended(2)},
		},
		"one moves a state": {
			map[manifests.Key]*State{key("a"): sized(1, 60<<10), key("b"): sized(2, 140<<10), key("c"): sized(3, 140<<10)},
			map[manifests.Key]*State{key("a"): sized(1, 140<<10)},
			map[manifests.Key]*State{key("a"): intended(9)},
		},
		"the other one moves a state": {
			map[manifests.Key]*State{key("a"): sized(1, 60<<10), key("b"): sized(2, 140<<10), key("c"): sized(3, 140<<10)},
			map[manifests.Key]*State{key("a"): intended(9)},
			map[manifests.Key]*State{key("a"): sized(1, 140<<10)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := newCluster(t)
			c.write(c.load(app), test.before)
			first, second := c.load(app), c.load(app)
			first = c.write(first, test.first)
			_, err := c.Write(t.Context(), app, second, test.second)
			g.Expect(apierrors.IsConflict(err)).To(BeTrue(), "%v", err)
			g.Expect(err.Error()).To(ContainSubstring("Secret shop/" + nameOf(app, 0).Name))
			g.Expect(c.load(app).States()).To(Equal(first.States()))
		})
	}
}

func TestStatesFillSecrets(t *testing.T) {
	g := NewWithT(t)
	c, app := newCluster(t), owner("app")
	changes := map[manifests.Key]*State{}
	for i := range 7 {
		changes[key(fmt.Sprint("s", i))] = sized(i, 100<<10)
	}
	r := c.write(c.load(app), changes)
	g.Expect(c.sent()).To(Equal([]string{
		"list ", "get " + nameOf(app, 0).Name, "create " + nameOf(app, 0).Name,
		"create " + nameOf(app, 1).Name, "create " + nameOf(app, 2).Name,
	}))
	g.Expect(r.secret(0).held).To(HaveLen(3))
	g.Expect(r.secret(1).held).To(HaveLen(3))
	g.Expect(r.secret(2).held).To(HaveLen(1))
}

func TestANewStateGoesToTheFirstSecretWithRoom(t *testing.T) {
	g := NewWithT(t)
	c, app := newCluster(t), owner("app")
	changes := map[manifests.Key]*State{}
	for i := range 7 {
		changes[key(fmt.Sprint("s", i))] = sized(i, 100<<10)
	}
	c.write(c.load(app), changes)
	r := c.write(c.load(app), map[manifests.Key]*State{key("s0"): intended(0)})
	c.sent()
	r = c.write(r, map[manifests.Key]*State{
		key("a"): sized(10, 90<<10), key("b"): sized(11, 100<<10),
		key("s6"): intended(6),
	})
	g.Expect(c.sent()).To(Equal([]string{"patch " + nameOf(app, 0).Name, "patch " + nameOf(app, 2).Name}))
	g.Expect(r.secret(0).held).To(HaveKey("Schema.a"))
	g.Expect(r.secret(2).held).To(HaveKey("Schema.b"))
	g.Expect(c.load(app)).To(Equal(r))
}

func TestAStateStaysInItsSecretIfOthersMakeRoom(t *testing.T) {
	g := NewWithT(t)
	c, app := newCluster(t), owner("app")
	r := c.write(c.load(app), map[manifests.Key]*State{
		key("a"): sized(1, 60<<10), key("b"): sized(2, 140<<10), key("c"): sized(3, 145<<10),
	})
	c.sent()
	r = c.write(r, map[manifests.Key]*State{
		key("a"): sized(1, 145<<10), key("b"): nil, key("c"): intended(3),
		key("d"): sized(4, 140<<10),
	})
	g.Expect(c.sent()).To(Equal([]string{"patch " + nameOf(app, 0).Name}))
	g.Expect(c.load(app)).To(Equal(r))
}

func TestAStateThatOutgrowsItsSecretMoves(t *testing.T) {
	app := owner("app")
	first, second := nameOf(app, 0).Name, nameOf(app, 1).Name
	for name, test := range map[string]struct {
		// crashAt is the request after which nothing works any more.
		crashAt int
		want    State
		copies  []int
	}{
		"completely":                  {0, *sized(1, 145<<10), []int{1}},
		"before the mark is written":  {1, *sized(1, 60<<10), []int{0}},
		"before the state is written": {2, *sized(1, 60<<10), []int{0}},
		"before the copy is removed":  {3, *sized(1, 145<<10), []int{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := newCluster(t)
			r := c.write(c.load(app), map[manifests.Key]*State{
				key("a"): sized(1, 60<<10), key("b"): sized(2, 140<<10), key("c"): sized(3, 145<<10),
			})
			g.Expect(r.secrets).To(HaveLen(1))
			c.sent()
			c.Refuse = func(string, string) error {
				if test.crashAt > 0 && len(c.Requests) >= test.crashAt {
					return errors.New("reset")
				}
				return nil
			}
			_, err := c.Write(t.Context(), app, r, map[manifests.Key]*State{
				key("a"): sized(1, 145<<10),
				key("c"): sized(4, 145<<10),
			})
			g.Expect(err == nil).To(Equal(test.crashAt == 0), "%v", err)
			if err == nil {
				g.Expect(c.sent()).To(Equal([]string{"patch " + first, "create " + second, "patch " + first}))
			}
			c.Refuse = nil

			after := c.load(app)
			g.Expect(after.Damaged()).To(BeEmpty())
			g.Expect(after.States()).To(HaveKeyWithValue(key("a"), test.want))
			var copies []int
			for _, s := range after.secrets {
				if _, ok := s.held["Schema.a"]; ok {
					copies = append(copies, s.number)
				}
			}
			g.Expect(copies).To(Equal(test.copies))

			replaced := c.write(after, map[manifests.Key]*State{key("a"): intended(7)})
			g.Expect(replaced.States()).To(HaveKeyWithValue(key("a"), *intended(7)))
			g.Expect(c.load(app)).To(Equal(replaced))
			removed := c.write(replaced, map[manifests.Key]*State{key("a"): nil})
			g.Expect(removed.States()).NotTo(HaveKey(key("a")))
			g.Expect(c.load(app)).To(Equal(removed))
		})
	}
}

func TestARemovedStateLeavesNoCopyAfterACrash(t *testing.T) {
	g := NewWithT(t)
	c, app := newCluster(t), owner("app")
	r := c.write(c.load(app), map[manifests.Key]*State{
		key("a"): sized(1, 60<<10), key("b"): sized(2, 140<<10), key("c"): sized(3, 140<<10),
	})
	c.sent()
	c.Refuse = func(string, string) error {
		if len(c.Requests) == 3 {
			return errors.New("reset")
		}
		return nil
	}
	_, err := c.Write(t.Context(), app, r, map[manifests.Key]*State{key("a"): sized(1, 145<<10)})
	g.Expect(err).To(HaveOccurred())
	c.Refuse = nil
	r = c.write(c.load(app), map[manifests.Key]*State{key("a"): nil})
	g.Expect(r.States()).NotTo(HaveKey(key("a")))
	g.Expect(c.load(app).States()).NotTo(HaveKey(key("a")))
	for number := range 2 {
		g.Expect(c.secret(app, number).Object["data"]).NotTo(HaveKey("Schema.a"))
	}
}

func TestAfterACrashBetweenTwoSecretsTheNextLoadShowsWhatWasWritten(t *testing.T) {
	g := NewWithT(t)
	c, app := newCluster(t), owner("app")
	changes := map[manifests.Key]*State{}
	for i := range 4 {
		changes[key(fmt.Sprint("s", i))] = sized(i, 145<<10)
	}
	r := c.write(c.load(app), changes)
	g.Expect(r.secrets).To(HaveLen(2))
	c.Refuse = func(_, name string) error {
		if name == nameOf(app, 1).Name {
			return errors.New("reset")
		}
		return nil
	}
	for i := range 4 {
		changes[key(fmt.Sprint("s", i))] = intended(i)
	}
	failed, err := c.Write(t.Context(), app, r, changes)
	g.Expect(err).To(MatchError(ContainSubstring("write the states of externals to Secret shop/" + nameOf(app,
		1).Name + ": reset")))
	g.Expect(failed).To(BeNil())
	c.Refuse = nil
	states := c.load(app).States()
	for i := range 2 {
		g.Expect(states).To(HaveKeyWithValue(key(fmt.Sprint("s", i)), *intended(i)))
	}
	g.Expect(states).To(HaveKeyWithValue(key("s3"), *sized(3, 145<<10)))
}

func TestNoSecretIsLargerThanItsLimit(t *testing.T) {
	for name, bytes := range map[string]int{
		"small states": 0, "states of a usual size": 2 << 10,
		"large states": 120 << 10,
	} {
		t.Run(name, func(t *testing.T) {
			long := strings.Repeat("n", 253)
			o := manifests.Owner{
				Cluster: long, Reconciler: reconciler, Group: long, Kind: long[:63], Namespace: "shop",
				Name: long,
			}
			c := newCluster(t)
			r := c.write(c.load(o), map[manifests.Key]*State{key("first"): intended(1)})
			for written := 0; len(r.secrets) < 2; {
				changes := map[manifests.Key]*State{}
				for range 20 {
					written++
					changes[manifests.Key{Group: manifests.ExternalGroup, Kind: "K", Name: fmt.Sprint("s", written)}] = sized(written,
						bytes)
				}
				r = c.write(r, changes)
			}
			secret := c.secret(o, 0).DeepCopy()
			var fields strings.Builder
			for dataKey := range r.secret(0).held {
				fmt.Fprintf(&fields, `"f:%s":{},`, dataKey)
			}
			secret.SetManagedFields([]metav1.ManagedFieldsEntry{{FieldsV1: metav1.NewFieldsV1(`{"f:data":{` + fields.String() +
				`"f:x":{}}}`)}})
			text, err := secret.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			if least := maxSecret * 6 / 10; len(text) > maxSecret || len(text) < least || len(r.secret(0).held) > maxKeys {
				t.Errorf("the Secret has %d bytes and %d keys", len(text), len(r.secret(0).held))
			}
		})
	}
}

func TestSecretsOfAComponentAreLimited(t *testing.T) {
	g := NewWithT(t)
	c, app := newCluster(t), owner("app")
	r := c.load(app)
	for number := range maxSecrets {
		r = r.put(&secret{number: number, cause: Edited})
	}
	_, err := c.Write(t.Context(), app, r, map[manifests.Key]*State{key("a"): intended(1)})
	g.Expect(err).To(MatchError(ContainSubstring("need more than 128 Secrets")))
	g.Expect(passerror.Of(err).Terminal).To(BeTrue())
}

func TestErrorsOfWrites(t *testing.T) {
	app := owner("app")
	one := map[manifests.Key]*State{key("a"): intended(1)}
	for name, test := range map[string]struct {
		prepare func(c *cluster)
		owner   manifests.Owner
		changes map[manifests.Key]*State
		want    string
		reason  string
	}{
		"several invalid states": {
			owner: app, changes: map[manifests.Key]*State{key("b"): {}, key("a"): {}, key("c"): intended(1)},
			want: "Schema.external.fairlead.io a: the token \"\" must have 40 hexadecimal digits\n" +
				"Schema.external.fairlead.io b",
			reason: "InvalidManifests",
		},
		"another cluster": {owner: owner("elsewhere"), changes: one, want: "another cluster", reason: "Retrying"},
		"a missing right": {
			prepare: func(c *cluster) { c.Refuse = func(string, string) error { return forbidden() } },
			owner:   app, changes: one, want: "write the states of externals to Secret shop/" + nameOf(app, 0).Name,
			reason: "Forbidden",
		},
		"a Secret of somebody else": {
			prepare: func(c *cluster) {
				foreign := c.Records.Externals(c.t.Context(), owner("b"), records.ExternalsSecret{})
				foreign.SetName(nameOf(app, 0).Name)
				c.Add(foreign)
			},
			owner: app, changes: one, want: "Secret shop/" + nameOf(app, 0).Name + " exists, but", reason: "OwnershipConflict",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := newCluster(t)
			r := c.load(test.owner)
			if test.prepare != nil {
				test.prepare(c)
			}
			before := len(c.Secrets)
			_, err := c.Write(t.Context(), test.owner, r, test.changes)
			g.Expect(err).To(MatchError(ContainSubstring(test.want)))
			g.Expect(passerror.Of(err).Reason).To(Equal(test.reason))
			g.Expect(c.Secrets).To(HaveLen(before))
		})
	}
	c := newCluster(t)
	g := NewWithT(t)
	_, err := c.Write(t.Context(), app, nil, one)
	g.Expect(err).To(MatchError(ContainSubstring("were not loaded")))
	_, err = c.Write(t.Context(), app, c.load(owner("b")), one)
	g.Expect(err).To(MatchError(ContainSubstring("were not loaded")))
}

func TestErrorsOfLoads(t *testing.T) {
	app := owner("app")
	for verb, want := range map[string]string{
		"list": "list the Secrets with states of externals in namespace shop",
		"get":  "read the states of externals in Secret shop/" + nameOf(app, 0).Name,
	} {
		g := NewWithT(t)
		c := newCluster(t)
		c.write(c.load(app), map[manifests.Key]*State{key("a"): intended(1)})
		var refusal error
		c.Refuse = func(sent, _ string) error {
			if sent == verb {
				return refusal
			}
			return nil
		}
		refusal = forbidden()
		_, err := c.Load(t.Context(), app, nil)
		g.Expect(passerror.Of(err).Reason).To(Equal(metav1alpha1.ReasonForbidden))
		refusal = errors.New("reset")
		_, err = c.Load(t.Context(), app, nil)
		g.Expect(err).To(MatchError(want + ": reset"))
		refusal = apierrors.NewNotFound(corev1.Resource("secrets"), "x")
		if verb == "get" {
			g.Expect(c.load(app).States()).To(BeEmpty())
		}
	}
}

func TestSecretsWithOtherNamesAreNotRead(t *testing.T) {
	g := NewWithT(t)
	c, app := newCluster(t), owner("app")
	for _, suffix := range []string{"00", "128", "99999999999999999999"} {
		secret := c.Records.Externals(t.Context(), app, records.ExternalsSecret{})
		secret.SetName("externals-" + app.ID() + "-" + suffix)
		c.Add(secret)
	}
	g.Expect(c.load(app).secrets).To(BeEmpty())
	g.Expect(c.sent()).To(Equal([]string{"list ", "get " + nameOf(app, 0).Name}))
}

func TestASecretThatIsBeingDeletedIsUsedButGetsNoNewStates(t *testing.T) {
	g := NewWithT(t)
	c, app := newCluster(t), owner("app")
	c.write(c.load(app), map[manifests.Key]*State{key("a"): intended(1)})
	c.secret(app, 0).SetDeletionTimestamp(new(metav1.NewTime(start)))
	r := c.write(c.load(app), map[manifests.Key]*State{key("a"): created(1), key("b"): intended(2)})
	g.Expect(r.secret(0).held).To(HaveLen(1))
	g.Expect(c.secret(app, 0).GetFinalizers()).To(ConsistOf(reconciler + "/finalizer"))
	g.Expect(c.load(app).States()).To(Equal(map[manifests.Key]State{key("a"): *created(1), key("b"): *intended(2)}))
}

func TestAllSecretsOfAComponentAreDeleted(t *testing.T) {
	g := NewWithT(t)
	c, app, b := newCluster(t), owner("app"), owner("b")
	changes := map[manifests.Key]*State{}
	for i := range 4 {
		changes[key(fmt.Sprint("s", i))] = sized(i, 145<<10)
	}
	c.write(c.load(app), changes)
	c.write(c.load(b), map[manifests.Key]*State{key("a"): intended(1)})
	c.secret(app, 0).SetManagedFields(nil)
	c.Refuse = func(string, string) error { return forbidden() }
	g.Expect(passerror.Of(c.Delete(t.Context(), app)).Reason).To(Equal(metav1alpha1.ReasonForbidden))
	c.ending = []string{"shop"}
	g.Expect(c.Delete(t.Context(), app)).To(Succeed())
	g.Expect(c.Secrets).To(HaveLen(3))
	c.Refuse = nil
	g.Expect(c.Delete(t.Context(), app)).To(Succeed())
	g.Expect(c.Names("shop")).To(Equal([]string{nameOf(b, 0).Name}))
}

func TestStatesOfClusterScopedComponents(t *testing.T) {
	g := NewWithT(t)
	c, app := newCluster(t), owner("app")
	app.Namespace = ""
	c.Allowed = false
	r := c.write(c.load(app), map[manifests.Key]*State{key("a"): intended(1)})
	secret := c.Secrets[types.NamespacedName{Namespace: "operator", Name: records.ExternalsName(app.ID(), 0)}]
	g.Expect(secret.GetFinalizers()).To(HaveLen(1))
	g.Expect(c.load(app)).To(Equal(r))
}
