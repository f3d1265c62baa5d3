package externalstate

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/pkg/component/internal/passerror"
	"github.com/fairlead-io/fairlead/pkg/component/internal/records"
	"github.com/fairlead-io/fairlead/pkg/manifests"
)

// valueOf returns the value of a state as text in a Secret.
func valueOf(t *testing.T, o manifests.Owner, k manifests.Key, s *State) string {
	t.Helper()
	data, err := encode(o, k, s)
	if err != nil {
		t.Fatal(err)
	}
	return text(data)
}

// gzipped returns a gzip file that is much larger when it is unpacked.
func gzipped() []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(make([]byte, 10<<20))
	_ = w.Close()
	return b.Bytes()
}

func TestDamage(t *testing.T) {
	app := owner("app")
	all := func(cause Cause) map[manifests.Key]Cause {
		return map[manifests.Key]Cause{key("a"): cause, key("b"): cause}
	}
	one := func(cause Cause) map[manifests.Key]Cause { return map[manifests.Key]Cause{key("a"): cause} }
	data := func(edit func(data map[string]any)) func(*cluster) {
		return func(c *cluster) { c.edit(app, edit) }
	}
	set := func(dataKey, value string) func(*cluster) {
		return data(func(data map[string]any) { data[dataKey] = value })
	}
	for name, test := range map[string]struct {
		damage func(c *cluster)
		want   map[manifests.Key]Cause
		// secret is the cause of the whole Secret.
		secret Cause
	}{
		"nothing":         {func(*cluster) {}, nil, ""},
		"an edited value": {set("Schema.a", valueOf(t, app, key("a"), created(9))), one(Edited), ""},
		"an added value": {
			set("Schema.c", valueOf(t, app, key("c"), created(9))),
			map[manifests.Key]Cause{key("c"): Edited},
			"",
		},
		"a removed value": {data(func(data map[string]any) { delete(data, "Schema.a") }), one(Removed), ""},
		"two swapped values": {data(func(data map[string]any) {
			data["Schema.a"], data["Schema.b"] = data["Schema.b"],
				data["Schema.a"]
		}), all(Swapped), ""},
		"a value of another owner":  {set("Schema.a", valueOf(t, owner("b"), key("a"), created(1))), one(Swapped), ""},
		"a value that is no base64": {set("Schema.a", "%"), one(Unreadable), ""},
		"a value that is no JSON":   {set("Schema.a", text([]byte("a"))), one(Unreadable), ""},
		"a value of another type":   {set("Schema.a", text([]byte(`{"format":1,"token":7}`))), one(Unreadable), ""},
		"a value without a format":  {set("Schema.a", text([]byte(`{}`))), one(Unreadable), ""},
		"a value without a token":   {set("Schema.a", text([]byte(`{"format":1}`))), one(Unreadable), ""},
		"a gzip file":               {set("Schema.a", text(gzipped())), one(Unreadable), ""},
		"a large value": {
			set("Schema.a", text([]byte(`{"format":1,"id":"`+strings.Repeat("a", maxValue)+`"}`))),
			one(TooLarge), "",
		},
		"a value that nests deeply":  {set("Schema.a", text([]byte(strings.Repeat("[", 2000)))), one(TooLarge), ""},
		"a value with a forged mark": {set("Schema.a", text([]byte(`{"format":2}`))), one(Edited), ""},
		"a key of no external":       {set("other", "YQ=="), nil, ""},
		"an index that is missing": {data(func(data map[string]any) {
			delete(data,
				records.IndexKey)
		}), all(Edited), Edited},
		"an edited index": {set(records.IndexKey,
			text([]byte(`{"format":1,"owner":"`+app.String()+`","secret":"`+nameOf(app, 0).Name+`"}`))), all(Edited), Edited},
		"an index that is no JSON": {set(records.IndexKey, text([]byte(`a`))), all(Unreadable), Unreadable},
		"an index of another type": {
			set(records.IndexKey, text([]byte(`{"format":1,"digests":7}`))), all(Unreadable),
			Unreadable,
		},
		"a large index": {
			set(records.IndexKey, text([]byte("["+strings.Repeat("1,", 300_000)+"1]"))),
			all(TooLarge), TooLarge,
		},
		"a newer index":    {set(records.IndexKey, text([]byte(`{"format":2}`))), all(Newer), Newer},
		"an edited digest": {func(c *cluster) { c.secret(app, 0).SetAnnotations(nil) }, all(Edited), Edited},
		"data of another component": {func(c *cluster) {
			c.write(c.load(owner("b")), map[manifests.Key]*State{key("a"): created(1), key("b"): created(2)})
			c.edit(app, func(data map[string]any) {
				other, _ := c.secret(owner("b"), 0).Object["data"].(map[string]any)
				data[records.IndexKey], data["Schema.a"], data["Schema.b"] = other[records.IndexKey], other["Schema.a"],
					other["Schema.b"]
			})
		}, all(Swapped), Swapped},
		"a copy of another Secret": {func(c *cluster) {
			secret := c.secret(app, 0).DeepCopy()
			secret.SetName(nameOf(app, 1).Name)
			c.Add(secret)
			delete(c.Secrets, nameOf(app, 0))
		}, all(Swapped), Swapped},
		"a copy beside the Secret": {func(c *cluster) {
			secret := c.secret(app, 0).DeepCopy()
			secret.SetName(nameOf(app, 1).Name)
			c.Add(secret)
		}, all(Older), Swapped},
		"far too many keys": {data(func(data map[string]any) {
			for i := range maxKeys {
				data["Schema.x"+strings.Repeat("y", i%200)+string(rune('a'+i/200))] = ""
			}
		}), nil, TooLarge},
		"data that are no texts": {func(c *cluster) {
			c.secret(app, 0).Object["data"] = map[string]any{"Schema.a": int64(7)}
		}, one(Edited), Edited},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := newCluster(t)
			c.write(c.load(app), map[manifests.Key]*State{key("a"): created(1), key("b"): created(2)})
			test.damage(c)
			r := c.load(app)
			damaged := map[manifests.Key]Cause{}
			for k, d := range r.Damaged() {
				damaged[k] = d.Cause
				g.Expect(d.String()).To(And(ContainSubstring("Secret shop/externals-"), ContainSubstring(explanations[d.Cause])))
				g.Expect(r.States()).NotTo(HaveKey(k))
			}
			if test.want == nil {
				test.want = map[manifests.Key]Cause{}
			}
			g.Expect(damaged).To(Equal(test.want))
			g.Expect(secretCause(r)).To(Equal(test.secret))
		})
	}
}

// secretCause returns the cause of the Secret that cannot be used as a whole, or an empty text.
func secretCause(r *Record) Cause {
	for _, s := range r.secrets {
		if s.cause != "" {
			return s.cause
		}
	}
	return ""
}

func TestDamageNamesTheSecret(t *testing.T) {
	g := NewWithT(t)
	c, app := newCluster(t), owner("app")
	c.write(c.load(app), map[manifests.Key]*State{key("a"): created(1)})
	c.edit(app, func(data map[string]any) { data["Schema.a"] = valueOf(t, app, key("a"), created(9)) })
	g.Expect(c.load(app).Damaged()).To(Equal(map[manifests.Key]Damage{
		key("a"): {Secret: "shop/" + nameOf(app, 0).Name, Cause: Edited},
	}))
}

func TestOnlyNamedStatesOfADamagedSecretAreReplaced(t *testing.T) {
	app := owner("app")
	for name, damage := range map[string]func(data map[string]any){
		"edited values": func(data map[string]any) {
			data["Schema.a"], data["Schema.b"] = valueOf(t, app, key("a"), created(8)), valueOf(t, app, key("b"), created(9))
		},
		"removed values": func(data map[string]any) { delete(data, "Schema.a"); delete(data, "Schema.b") },
		"a lost index":   func(data map[string]any) { delete(data, records.IndexKey) },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			c := newCluster(t)
			c.write(c.load(app), map[manifests.Key]*State{key("a"): created(1), key("b"): created(2)})
			c.edit(app, damage)
			r := c.load(app)
			kept, _, _ := unstructured.NestedString(c.secret(app, 0).Object, "data", "Schema.b")
			r = c.write(r, map[manifests.Key]*State{key("a"): created(7), key("c"): created(3)})
			g.Expect(r.States()).To(Equal(map[manifests.Key]State{key("a"): *created(7), key("c"): *created(3)}))
			g.Expect(r.Damaged()).To(And(HaveLen(1), HaveKey(key("b"))))
			after, _, _ := unstructured.NestedString(c.secret(app, 0).Object, "data", "Schema.b")
			g.Expect(after).To(Equal(kept), "the value was replaced")
			g.Expect(c.load(app)).To(Equal(r), "the damage must be recorded")

			r = c.write(r, map[manifests.Key]*State{key("b"): nil})
			g.Expect(r.Damaged()).To(BeEmpty())
			g.Expect(secretCause(r)).To(BeEmpty())
			g.Expect(c.load(app)).To(Equal(r))
		})
	}
}

func TestContentOfANewerVersionIsNotReplaced(t *testing.T) {
	app := owner("app")
	one := map[manifests.Key]*State{key("a"): nil}
	t.Run("a Secret", func(t *testing.T) {
		g := NewWithT(t)
		c := newCluster(t)
		c.write(c.load(app), map[manifests.Key]*State{key("a"): created(1)})
		c.edit(app, func(data map[string]any) { data[records.IndexKey] = text([]byte(`{"format":2}`)) })
		r := c.load(app)
		c.sent()
		for _, changes := range []map[manifests.Key]*State{one, {key("new"): intended(2)}} {
			_, err := c.Write(t.Context(), app, r, changes)
			g.Expect(passerror.Of(err).Reason).To(Equal("NewerRecord"))
			g.Expect(err).To(MatchError(ContainSubstring("a newer version of the operator wrote Secret shop/" +
				nameOf(app, 0).Name)))
		}
		g.Expect(c.sent()).To(BeEmpty())
	})
	t.Run("a value", func(t *testing.T) {
		g := NewWithT(t)
		c := newCluster(t)
		r := c.write(c.load(app), map[manifests.Key]*State{key("a"): created(1), key("b"): created(2)})
		newer := []byte(`{"format":2}`)
		h := *r.secret(0).held["Schema.a"]
		h.digest, h.size, h.cause = digestOf(newer), len(newer), Newer
		r.secret(0).held["Schema.a"] = &h
		c.write(r, map[manifests.Key]*State{key("b"): intended(2)})
		c.edit(app, func(data map[string]any) { data["Schema.a"] = text(newer) })
		r = c.load(app)
		g.Expect(r.Damaged()).To(HaveKeyWithValue(key("a"), HaveField("Cause", Newer)))
		_, err := c.Write(t.Context(), app, r, one)
		g.Expect(passerror.Of(err).Reason).To(Equal("NewerRecord"))
		r = c.write(r, map[manifests.Key]*State{key("b"): nil})
		g.Expect(r.Damaged()).To(HaveLen(1))
		g.Expect(c.load(app)).To(Equal(r))
	})
}

func TestAnOlderVersionOfASecretIsRecognised(t *testing.T) {
	g := NewWithT(t)
	c, app := newCluster(t), owner("app")
	r := c.write(c.load(app), map[manifests.Key]*State{
		key("same"): created(1), key("changed"): intended(2), key("removed"): created(3),
	})
	older := c.secret(app, 0).DeepCopy()
	r = c.write(r, map[manifests.Key]*State{key("changed"): created(2), key("added"): created(4), key("removed"): nil})
	r = c.write(r, map[manifests.Key]*State{key("changed"): intended(5)})
	c.restore(older)
	_, err := c.Write(t.Context(), app, r, map[manifests.Key]*State{key("same"): nil})
	g.Expect(err).To(MatchError(ContainSubstring("the Secret changed")))

	after, err := c.Load(t.Context(), app, r)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(after.States()).To(Equal(map[manifests.Key]State{key("same"): *created(1)}))
	g.Expect(after.Damaged()).To(And(HaveLen(3),
		HaveKeyWithValue(key("changed"), Damage{"shop/" + nameOf(app, 0).Name, Older}),
		HaveKeyWithValue(key("added"), HaveField("Cause", Older)),
		HaveKeyWithValue(key("removed"), HaveField("Cause", Older))))

	resolved := c.write(after, map[manifests.Key]*State{key("changed"): created(2)})
	g.Expect(resolved.Damaged()).To(HaveLen(2))
	g.Expect(c.load(app)).To(Equal(resolved), "the damage must be recorded")
	again, err := c.Load(t.Context(), app, r)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(again.States()).To(Equal(resolved.States()), "the number of writes must be higher than before")
}

func TestARemovedSecretIsRecognised(t *testing.T) {
	g := NewWithT(t)
	c, app := newCluster(t), owner("app")
	changes := map[manifests.Key]*State{}
	for i, name := range []string{"a", "b", "c", "d"} {
		changes[key(name)] = sized(i, 145<<10)
	}
	r := c.write(c.load(app), changes)
	delete(c.Secrets, nameOf(app, 0))
	g.Expect(c.load(app).secret(0)).To(BeNil())

	after, err := c.Load(t.Context(), app, r)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(after.Damaged()).To(And(HaveLen(2), HaveKeyWithValue(key("a"), HaveField("Cause", Removed))))
	g.Expect(after.States()).To(HaveLen(2))
	after = c.write(after, map[manifests.Key]*State{key("a"): created(1), key("x"): created(2)})
	g.Expect(after.Damaged()).To(And(HaveLen(1), HaveKey(key("b"))))
	g.Expect(c.load(app)).To(Equal(after))
}

func TestStatesThatADamagedSecretLostAreRemembered(t *testing.T) {
	g := NewWithT(t)
	c, app := newCluster(t), owner("app")
	r := c.write(c.load(app), map[manifests.Key]*State{key("a"): created(1), key("b"): created(2)})
	c.edit(app, func(data map[string]any) { delete(data, records.IndexKey); delete(data, "Schema.a") })
	after, err := c.Load(t.Context(), app, r)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(after.Damaged()).To(And(HaveLen(2),
		HaveKeyWithValue(key("a"), HaveField("Cause", Removed)), HaveKeyWithValue(key("b"), HaveField("Cause", Edited))))
	resolved := c.write(after, map[manifests.Key]*State{key("b"): created(2)})
	g.Expect(c.load(app)).To(Equal(resolved))
	g.Expect(resolved.Damaged()).To(HaveLen(1))
}

func TestDamageThatIsRecordedStaysForOtherProcesses(t *testing.T) {
	g := NewWithT(t)
	c, app := newCluster(t), owner("app")
	long := manifests.Key{Group: manifests.ExternalGroup, Kind: strings.Repeat("K", 63), Name: strings.Repeat("a", 253)}
	c.write(c.load(app), map[manifests.Key]*State{long: created(1), key("b"): created(2)})
	c.edit(app, func(data map[string]any) { delete(data, dataKeyOf(long)) })
	r := c.load(app)
	g.Expect(r.Damaged()).To(HaveKeyWithValue(long, HaveField("Cause", Removed)))
	c.edit(app, func(data map[string]any) {
		delete(data, records.IndexKey)
		data[dataKeyOf(long)] = valueOf(t, app, long, created(1))
	})
	g.Expect(c.load(app).Damaged()).To(HaveKeyWithValue(long, HaveField("Cause", Edited)))
	c.edit(app, func(data map[string]any) { data[dataKeyOf(long)] = text([]byte("a")) })
	g.Expect(secretCause(c.load(app))).To(Equal(Edited))
}

func TestTheCollectorSeesHowManyExternalsAreLeft(t *testing.T) {
	g := NewWithT(t)
	c, app := newCluster(t), owner("app")
	left := func() string { return c.secret(app, 0).GetAnnotations()[reconciler+"/externals-left"] }
	deleted := created(1)
	deleted.Gone = true
	r := c.write(c.load(app), map[manifests.Key]*State{key("a"): created(1), key("b"): intended(2)})
	g.Expect(left()).To(Equal("2"))
	c.write(r, map[manifests.Key]*State{key("a"): deleted, key("b"): nil})
	g.Expect(left()).To(Equal("0"))
	c.edit(app, func(data map[string]any) { data["Schema.a"] = "" })
	c.write(c.load(app), map[manifests.Key]*State{key("c"): deleted})
	g.Expect(left()).To(Equal("1"))
}

func TestAWriteKeepsForeignDataAndFinalizers(t *testing.T) {
	g := NewWithT(t)
	c, app := newCluster(t), owner("app")
	c.write(c.load(app), map[manifests.Key]*State{key("a"): created(1)})
	secret := c.secret(app, 0)
	secret.SetFinalizers([]string{"example.com/other"})
	c.edit(app, func(data map[string]any) { data["other"] = "YQ==" })
	r := c.write(c.load(app), map[manifests.Key]*State{key("a"): created(2)})
	g.Expect(secret.GetFinalizers()).To(Equal([]string{"example.com/other", reconciler + "/finalizer"}))
	other, _, _ := unstructured.NestedString(secret.Object, "data", "other")
	g.Expect(other).To(Equal("YQ=="))
	g.Expect(c.load(app)).To(Equal(r))
}
