package packed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"sync"
	"weak"

	"github.com/klauspost/compress/zstd"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	jsonutil "k8s.io/apimachinery/pkg/util/json"
)

// blockSize is the number of bytes of JSON that are compressed together. The manifests of a set are similar, so that
// several of them compress better together than each of them alone. To unpack one manifest, its whole block is
// decompressed.
const blockSize = 32 << 10

// Manifest is a manifest as compressed JSON, which takes a fraction of the memory of decoded maps. It is read-only and
// safe for concurrent use. The zero value has no manifest.
type Manifest struct {
	block      *block
	start, end int
}

// block contains the manifests that are compressed together.
type block struct {
	compressed []byte

	mu sync.Mutex
	// plain is the decompressed JSON, which stays in memory until the next garbage collection. It is kept because after
	// one manifest of a block, the other manifests of the block are often unpacked too.
	plain weak.Pointer[[]byte]
}

// Encoders and decoders have tables of a MiB and more. They are in pools, so that the garbage collector can free them
// while they are not used. Errors of the constructors are ignored, because these fail only for options that contradict
// each other.
var (
	encoders = sync.Pool{New: func() any {
		encoder, _ := zstd.NewWriter(nil,
			zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(blockSize))
		return encoder
	}}
	decoders = sync.Pool{New: func() any {
		decoder, _ := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
		return decoder
	}}
)

// compress appends the compressed text to a buffer.
func compress(text, buffer []byte) []byte {
	encoder, _ := encoders.Get().(*zstd.Encoder)
	defer encoders.Put(encoder)
	return encoder.EncodeAll(text, buffer)
}

// decompress is the reverse of compress.
func decompress(compressed []byte) ([]byte, error) {
	decoder, _ := decoders.Get().(*zstd.Decoder)
	defer decoders.Put(decoder)
	return decoder.DecodeAll(compressed, nil)
}

// Pack compresses manifests and returns them in the same order. It returns an error for a manifest that is nil or
// cannot be written as JSON.
func Pack(bodies []*unstructured.Unstructured) ([]Manifest, error) {
	packed := make([]Manifest, 0, len(bodies))
	current, text, scratch := &block{}, bytes.Buffer{}, []byte(nil)
	end := func() {
		scratch = compress(text.Bytes(), scratch[:0])
		current.compressed = bytes.Clone(scratch)
	}
	for i, body := range bodies {
		if body == nil {
			return nil, fmt.Errorf("manifest %d is nil", i+1)
		}
		if text.Len() >= blockSize {
			end()
			current = &block{}
			text.Reset()
		}
		start := text.Len()
		if err := json.NewEncoder(&text).Encode(body.Object); err != nil {
			name := path.Join(body.GetNamespace(), body.GetName())
			return nil, fmt.Errorf("%s %s: the manifest cannot be written as JSON: %w", body.GetKind(), name, err)
		}
		packed = append(packed, Manifest{block: current, start: start, end: text.Len()})
	}
	end()
	return packed, nil
}

// Unpack returns a copy of the manifest.
func (m Manifest) Unpack() (*unstructured.Unstructured, error) {
	if m.block == nil {
		return nil, errors.New("there is no manifest to unpack")
	}
	text, err := m.block.decompressed()
	if err != nil {
		return nil, fmt.Errorf("unpack a manifest: %w", err)
	}
	body := &unstructured.Unstructured{}
	if err := jsonutil.Unmarshal(text[m.start:m.end], &body.Object); err != nil {
		return nil, fmt.Errorf("unpack a manifest: %w", err)
	}
	return body, nil
}

// decompressed returns the JSON of all manifests of the block. The caller must not change it.
func (b *block) decompressed() ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if plain := b.plain.Value(); plain != nil {
		return *plain, nil
	}
	text, err := decompress(b.compressed)
	if err != nil {
		return nil, err
	}
	plain := &text
	b.plain = weak.Make(plain)
	return text, nil
}

// Unpack returns copies of manifests, in the same order.
func Unpack(packed []Manifest) ([]*unstructured.Unstructured, error) {
	bodies := make([]*unstructured.Unstructured, 0, len(packed))
	for _, m := range packed {
		body, err := m.Unpack()
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, body)
	}
	return bodies, nil
}

// Size returns the compressed size of manifests in bytes. The manifests must be in the order in which Pack returned
// them.
func Size(packed []Manifest) int {
	size := 0
	var last *block
	for _, m := range packed {
		if m.block != nil && m.block != last {
			size += len(m.block.compressed)
		}
		last = m.block
	}
	return size
}
