package records

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/fuzzing"
)

// salt returns a salt that consists of one byte.
func salt(value byte) []byte { return bytes.Repeat([]byte{value}, saltBytes) }

func TestAnIDProvesItsRecord(t *testing.T) {
	const header, content = `{"permission":"p"}`, "content"
	id, err := Seal(UseKept, salt(1), header, []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	// The id must stay the same in all versions.
	if want := "k241b0e7eb33e510944f76bb34c2f578503cb4a2a"; id != want {
		t.Errorf("got %s, want %s", id, want)
	}
	pinned, err := Seal(UsePinned, salt(1), header, []byte(content))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, id, header, content string
		salt                      []byte
		want                      string
	}{
		{"the record", id, header, content, salt(1), ""},
		{"the same record as a pinned rendering", pinned, header, content, salt(1), ""},
		{"edited content", id, header, content + " ", salt(1), "does not match its id"},
		{"no content", id, header, "", salt(1), "does not match its id"},
		{"an edited header", id, `{"permission":"q"}`, content, salt(1), "does not match its id"},
		{"no header", id, "", content, salt(1), "does not match its id"},
		{"a header that moved into the content", id, header[:4], header[4:] + content, salt(1), "does not match its id"},
		{"another salt", id, header, content, salt(2), "does not match its id"},
		{"no salt", id, header, content, nil, "does not match its id"},
		{"a salt that moved into the header", id, header, content, salt(1)[1:], "does not match its id"},
		{"the id of another use", "v" + id[1:], header, content, salt(1), "does not match its id"},
		{"the id of an unknown use", "x" + id[1:], header, content, salt(1), "does not prove"},
		{"an id of an older version", "0123456789abcdef", header, content, salt(1), "does not prove"},
		{"a record that was found", Found(id), header, content, salt(1), "does not prove"},
		{"a shorter id", id[:len(id)-1], header, content, salt(1), "does not prove"},
		{"an id in capital letters", strings.ToUpper(id), header, content, salt(1), "does not prove"},
		{"an id and a line break", id + "\n", header, content, salt(1), "does not prove"},
		{"no id", "", header, content, salt(1), "does not prove"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := Verify(c.id, c.salt, c.header, []byte(c.content))
			if c.want == "" && err != nil || c.want != "" && (!IsLost(err) || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// The id of a record is in statuses, which users read who may not read Secrets.
func TestAnIDShowsNothingOfItsContent(t *testing.T) {
	first, second := NewSalt(), NewSalt()
	if len(first) != saltBytes || bytes.Equal(first, second) {
		t.Fatalf("the salts are %x and %x", first, second)
	}
	a, errA := Seal(UsePinned, first, "", []byte("weak password"))
	b, errB := Seal(UsePinned, second, "", []byte("weak password"))
	if errA != nil || errB != nil || a == b {
		t.Errorf("two records with the same content have the ids %s and %s", a, b)
	}
}

func TestARecordIsProvenAgain(t *testing.T) {
	parts := [][]byte{[]byte("con"), []byte("tent")}
	id, proof, err := NewProof(UsePinned, Header{Inputs: "i"}, parts)
	if err != nil || Verify(id, []byte(proof.Salt), proof.Header, []byte("content")) != nil {
		t.Fatalf("the id %s proves nothing; error %v", id, err)
	}
	for _, c := range []struct {
		name, id string
		proof    Proof
		parts    [][]byte
		same     bool
	}{
		{"the same bytes", id, proof, parts, true},
		{"the same bytes in other parts", id, proof, [][]byte{[]byte("content")}, true},
		{"other bytes", id, proof, [][]byte{[]byte("other")}, false},
		{"an id of an older version", "0123456789abcdef", Proof{}, parts, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			again, with, err := c.proof.Again(c.id, c.parts)
			if err != nil || (again == c.id) != c.same || with.Header != c.proof.Header {
				t.Fatalf("got the id %s and the header %q; error %v", again, with.Header, err)
			}
			if !IsProven(again) {
				return
			}
			if err := Verify(again, []byte(with.Salt), with.Header, bytes.Join(c.parts, nil)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAHeaderReplacesAnnotations(t *testing.T) {
	header := Header{Inputs: "i"}.WithCapabilities("c")
	for _, c := range []struct {
		name      string
		header    Header
		rec, want Record
	}{
		{
			"annotations of the record", header,
			Record{Origin: &Origin{InputDigest: "i", Revision: 7}, Capabilities: "c"},
			Record{Origin: &Origin{InputDigest: "i", Revision: 7}, Capabilities: "c"},
		},
		{
			"annotations that were edited", header,
			Record{Origin: &Origin{InputDigest: "other"}, ValuesLost: true, Capabilities: "other"},
			Record{Origin: &Origin{InputDigest: "i"}},
		},
		{"annotations that were removed", header, Record{}, Record{Origin: &Origin{InputDigest: "i"}}},
		{
			"values that were lost",
			Header{ValuesLost: true},
			Record{},
			Record{Origin: &Origin{}, ValuesLost: true},
		},
		{"capabilities that were added", Header{}, Record{Capabilities: "c"}, Record{Origin: &Origin{}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.rec
			c.header.apply(&got)
			if *got.Origin != *c.want.Origin || got.ValuesLost != c.want.ValuesLost || got.Capabilities != c.want.Capabilities {
				t.Errorf("got %+v with the origin %+v, want %+v with %+v", got, *got.Origin, c.want, *c.want.Origin)
			}
		})
	}
}

func TestOnlyAWholeRecordIsSealed(t *testing.T) {
	for _, c := range []struct {
		name   string
		use    Use
		salt   []byte
		header string
	}{
		{"an unknown use", "x", salt(1), ""},
		{"no use", "", salt(1), ""},
		{"no salt", UseKept, nil, ""},
		{"a short salt", UseKept, salt(1)[1:], ""},
		{"a header that is too large", UseKept, salt(1), strings.Repeat("x", maxHeader+1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if id, err := Seal(c.use, c.salt, c.header, nil); err == nil || id != "" {
				t.Errorf("got %q, %v", id, err)
			}
		})
	}
}

func TestNamesOfRenderings(t *testing.T) {
	const hash = "0123456789abcdef0123456789abcdef01234567"
	for _, c := range []struct {
		about, name, id  string
		pinned, isProven bool
	}{
		{"no record", "", "", false, false},
		{"a kept rendering", "k" + hash, "k" + hash, false, true},
		{"a kept rendering that was found", "?k" + hash, "k" + hash, false, false},
		{"a pinned rendering", "v" + hash, "v" + hash, true, true},
		{"a pinned rendering that was found", "?v" + hash, "v" + hash, true, false},
		{"a pinned rendering of an older version", "0123456789abcdef", "0123456789abcdef", true, false},
		{"a pinned rendering of an older version that was found", "?0123456789abcdef", "0123456789abcdef", true, false},
		{"a use of a newer version", "h" + hash, "h" + hash, true, false},
		{"a kept rendering with another proof", "k" + hash + "0", "k" + hash + "0", true, false},
		{"a record without an id", "?", "", false, false},
	} {
		t.Run(c.about, func(t *testing.T) {
			if got := Named(c.name); got != c.id {
				t.Errorf("the id is %q, want %q", got, c.id)
			}
			if IsPinned(c.name) != c.pinned || IsProven(c.name) != c.isProven {
				t.Errorf("pinned: %t, proven: %t", IsPinned(c.name), IsProven(c.name))
			}
			found := Found(c.name)
			if c.id != "" && (IsProven(found) || !IsFound(found) || Named(found) != c.id || Found(found) != found) {
				t.Errorf("when it is found, its name is %q", found)
			}
		})
	}
}

// An id with a proof is a part of the names of Secrets, which records of all versions read.
func TestAnIDWithAProofIsInTheNamesOfSecrets(t *testing.T) {
	const owner = "0123456789abcdef0123456789abcdef01234567"
	for _, use := range []Use{UseKept, UsePinned} {
		id, err := Seal(use, salt(1), "", nil)
		if err != nil {
			t.Fatal(err)
		}
		name := secretName(Rendering, owner, id, 12)
		if !IsName(name) || IDOf(name) != id || ownerIDOf(name) != owner || kindOf(name) != Rendering || !isID(id) {
			t.Errorf("%s is no name of a record with the id %s", name, id)
		}
	}
}

func TestHeader(t *testing.T) {
	text, err := Header{Permission: "p"}.Text()
	if err != nil || text != `{"permission":"p"}` {
		t.Errorf("got %s, %v", text, err)
	}
	for _, c := range []struct{ name, text, want string }{
		{"the header", text, "p"},
		{"an empty header", "{}", ""},
		{"a header of a newer version", `{"permission":"p","more":[1]}`, "p"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if h, err := ParseHeader(c.text); err != nil || h.Permission != c.want {
				t.Errorf("got %v, %v", h, err)
			}
		})
	}
	for _, damaged := range []string{"", "p", `{"permission":1}`, `{"permission":"p"`} {
		if h, err := ParseHeader(damaged); !IsLost(err) || h != (Header{}) {
			t.Errorf("%q: got %v, %v", damaged, h, err)
		}
	}
}

// FuzzProof seals random records and changes one part of each.
func FuzzProof(f *testing.F) {
	f.Add(true, []byte("salt"), `{"permission":"p"}`, []byte("content"), byte(0), "k0")
	f.Add(false, []byte{}, "", []byte{}, byte(7), "?v0123456789abcdef0123456789abcdef01234567")
	f.Add(false, salt(9), "{}", []byte("\x1f\x8b"), byte(255), "??")
	fuzzing.Run(f, func(t *testing.T, kept bool, seed []byte, header string, content []byte, at byte, name string) {
		use, own := UsePinned, slices.Concat(seed, salt(at))[:saltBytes]
		if kept {
			use = UseKept
		}
		id, err := Seal(use, own, header, content)
		if err != nil {
			if len(header) <= maxHeader {
				t.Fatal(err)
			}
			return
		}
		if err := Verify(id, own, header, content); err != nil {
			t.Error(err)
		}
		if !IsProven(id) || IsPinned(id) == kept || Named(Found(id)) != id {
			t.Errorf("the id is %s", id)
		}
		edited, other := slices.Concat(content, []byte{at}), slices.Clone(own)
		other[int(at)%saltBytes] ^= 1 + at%255
		for _, err := range []error{
			Verify(id, own, header, edited), Verify(id, other, header, content), Verify(id, own, header+"x", content),
			Verify(Found(id), own, header, content), Verify(name, own, header, content),
		} {
			if !IsLost(err) && name != id {
				t.Errorf("an edited record is believed: %v", err)
			}
		}
		if IsProven(name) && (Named(name) != name || IsProven(Found(name))) {
			t.Errorf("%q is proven", name)
		}
		if _, err := ParseHeader(header); err != nil && !IsLost(err) {
			t.Error(err)
		}
	})
}
