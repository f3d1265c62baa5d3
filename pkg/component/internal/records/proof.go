package records

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// The id of a record can prove its content. Whoever may edit Secrets can replace a record and all its annotations, so
// nothing in a Secret proves anything. The status names the id, and only the reconciler writes a status that is
// believed. An id with a proof is a hash of the whole record, so a record with another content has another id.
//
// The hash also covers a salt, which is random and stored in the Secret. Statuses and the names of Secrets show the id
// to users who may not read Secrets. Without the salt, such a user could guess a weak password in a record and compare
// the hash.
//
// An id of a version without proofs has hexadecimal digits only. It proves nothing.

// Use says why a rendering is stored. It is the first character of an id with a proof, and no hexadecimal digit.
type Use string

// The uses.
const (
	// UseKept: the rendering is what is applied. It can be rendered again while its inputs are available, so its loss
	// loses no values.
	UseKept Use = "k"
	// UsePinned: the rendering contains values that cannot be rendered again.
	UsePinned Use = "v"
)

const (
	// saltBytes is the length of a salt. A salt must not be guessed.
	saltBytes = 32
	// proofBytes is the length of the hash in an id. Nobody finds another content with the same 160 bits.
	proofBytes = 20
	// maxHeader is the maximum length of a header in bytes.
	maxHeader = 16 << 10
	// foundMark begins the name of a record that was found in the cluster, and that no believed status named. The name
	// proves nothing about such a record, because a tenant may have written it together with its id. It is no part of the
	// name of a Secret.
	foundMark = "?"
)

// provenID matches the ids with a proof.
var provenID = regexp.MustCompile(`^[kv][0-9a-f]{40}$`)

// Header is what the id of a record proves besides its content.
type Header struct {
	// Inputs is the digest of the inputs of the rendering; see Origin.
	Inputs string `json:"inputs,omitempty"`
	// ValuesLost is Record.ValuesLost.
	ValuesLost bool `json:"valuesLost,omitempty"`
	// Capabilities is the digest of Record.Capabilities; see WithCapabilities. It is empty if these are empty.
	Capabilities string `json:"capabilities,omitempty"`
	// Permission is the digest of what the spec of the component permitted when the record was written.
	Permission string `json:"permission,omitempty"`
}

// WithCapabilities returns the header with the digest of Record.Capabilities, whose text may be longer than a header.
func (h Header) WithCapabilities(text string) Header {
	h.Capabilities = digestOfCapabilities(text)
	return h
}

func digestOfCapabilities(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// apply replaces what the annotations of a Secret say about a record by what the header proves.
func (h Header) apply(rec *Record) {
	origin := Origin{}
	if rec.Origin != nil {
		origin = *rec.Origin
	}
	origin.InputDigest = h.Inputs
	rec.Origin, rec.ValuesLost = &origin, h.ValuesLost
	if digestOfCapabilities(rec.Capabilities) != h.Capabilities {
		rec.Capabilities = ""
	}
}

// Text returns the form of the header that is stored with the record.
func (h Header) Text() (string, error) {
	text, err := json.Marshal(h)
	return string(text), err
}

// ParseHeader reads the stored form of a header. Fields that a newer version added are ignored. The error is a
// LostError.
func ParseHeader(text string) (h Header, err error) {
	if err := json.Unmarshal([]byte(text), &h); err != nil {
		return Header{}, &LostError{"the header of the record is damaged"}
	}
	return h, nil
}

// Proof is what is stored with the content of a record, so that its id can be checked. It is empty for a record whose
// id proves nothing.
type Proof struct {
	// Salt are the random bytes of NewSalt.
	Salt string
	// Header is a text of Header.
	Header string
}

// NewProof returns the id and the proof of a new record. parts are the results of Encode.
func NewProof(use Use, h Header, parts [][]byte) (id string, p Proof, err error) {
	if p.Header, err = h.Text(); err != nil {
		return "", Proof{}, err
	}
	salt := NewSalt()
	p.Salt = string(salt)
	id, err = Seal(use, salt, p.Header, bytes.Join(parts, nil))
	return id, p, err
}

// Again returns the proof of a record that is written once more. id is the same, unless the parts have other bytes than
// those that were sealed. The same content has other bytes if another version of the operator has compressed it.
func (p Proof) Again(id string, parts [][]byte) (string, Proof, error) {
	content := bytes.Join(parts, nil)
	if !IsProven(id) || Verify(id, []byte(p.Salt), p.Header, content) == nil {
		return id, p, nil
	}
	salt := NewSalt()
	again, err := Seal(Use(id[:1]), salt, p.Header, content)
	return again, Proof{string(salt), p.Header}, err
}

// NewSalt returns a random salt.
func NewSalt() []byte {
	salt := make([]byte, saltBytes)
	_, _ = rand.Read(salt) // It never returns an error.
	return salt
}

// Seal returns the id of a record for a use. salt must come from NewSalt, and must be stored with the record. header is
// a text of Header, and content are the bytes of all parts of the record.
func Seal(use Use, salt []byte, header string, content []byte) (id string, err error) {
	if use != UseKept && use != UsePinned {
		return "", fmt.Errorf("%q is no use of a record", use)
	}
	if len(salt) != saltBytes || len(header) > maxHeader {
		return "", fmt.Errorf("the salt has %d bytes, and the header has %d; want %d, and at most %d",
			len(salt), len(header), saltBytes, maxHeader)
	}
	hash := sha256.New()
	// The lengths of all parts but the last are known, so different records never have the same text.
	length := binary.BigEndian.AppendUint32(nil, uint32(len(header)))
	for _, part := range [][]byte{[]byte(use), salt, length, []byte(header), content} {
		hash.Write(part)
	}
	return string(use) + hex.EncodeToString(hash.Sum(nil)[:proofBytes]), nil
}

// Verify returns a LostError if an id does not prove a record. The caller must have the id from a status that is
// believed, and must call Verify before it decodes the content.
func Verify(id string, salt []byte, header string, content []byte) error {
	if !IsProven(id) {
		return &LostError{"its id does not prove its content"}
	}
	if sealed, err := Seal(Use(id[:1]), salt, header, content); err != nil || sealed != id {
		return &LostError{"its content does not match its id, because somebody edited the record"}
	}
	return nil
}

// verify checks a record that was read, with its content. It replaces what the annotations say about the record by what
// its header proves. It does nothing if the id proves nothing.
func (r *Record) verify(content []byte) error {
	if !IsProven(r.ID) {
		return nil
	}
	if err := Verify(r.ID, []byte(r.Proof.Salt), r.Proof.Header, content); err != nil {
		return err
	}
	h, err := ParseHeader(r.Proof.Header)
	if err == nil {
		h.apply(r)
	}
	return err
}

// IsProven reports whether the name of a record in a believed status proves the content of the record.
func IsProven(name string) bool { return provenID.MatchString(name) }

// IsPinned reports whether a status names a pinned rendering, whose values cannot be rendered again. Ids of versions
// without proofs, and ids of uses that this version does not know, count as pinned.
func IsPinned(name string) bool {
	id := Named(name)
	isKept := strings.HasPrefix(id, string(UseKept)) && IsProven(id)
	return id != "" && !isKept
}

// Found returns the name of a record that was found in the cluster, and that no believed status named. The name is not
// proven.
func Found(id string) string {
	if id == "" || IsFound(id) {
		return id
	}
	return foundMark + id
}

// IsFound reports whether a name was made by Found.
func IsFound(name string) bool { return strings.HasPrefix(name, foundMark) }

// Named returns the id of the record that a status names. It returns an empty id if the status names none.
func Named(name string) (id string) { return strings.TrimPrefix(name, foundMark) }
