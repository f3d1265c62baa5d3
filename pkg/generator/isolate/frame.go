package isolate

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/fxamacker/cbor/v2"

	"github.com/fairlead-io/fairlead/internal/budget"
)

const (
	// maxFrame is the maximum size of a message. The largest message is a fetched source with its references.
	maxFrame = 128 << 20
	// maxItems is the maximum number of maps, lists, values and keys in a message of a child. A few bytes can take
	// hundreds of bytes of memory when they are decoded. The engines limit a rendering to half as many.
	maxItems = 2_000_000
	// maxNesting is the maximum depth of maps and lists.
	maxNesting = 10_000
	// maxElements is the maximum number of elements of a map or a list; maxItems is checked before.
	maxElements = 1 << 30
	headBytes   = 4
)

var errItems = &refusedError{
	fmt.Sprintf("its result, or a look-up, has more than %d maps, lists, values and keys", maxItems),
}

// codec encodes messages as CBOR, which distinguishes integers from other numbers, and texts from bytes.
type codec struct {
	encode cbor.EncMode
	decode cbor.DecMode
}

func newCodec() (codec, error) {
	encode, err := cbor.EncOptions{}.EncMode()
	if err != nil {
		return codec{}, err
	}
	decode, err := cbor.DecOptions{
		DefaultMapType: mapType, IntDec: cbor.IntDecConvertSignedOrFail, UTF8: cbor.UTF8DecodeInvalid,
		MaxNestedLevels: maxNesting, MaxArrayElements: maxElements, MaxMapPairs: maxElements,
		IndefLength: cbor.IndefLengthForbidden, TagsMd: cbor.TagsForbidden,
	}.DecMode()
	return codec{encode: encode, decode: decode}, err
}

// write sends a message with its length.
func (c codec) write(out io.Writer, m message) error {
	content, err := c.encode.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	if len(content) > maxFrame {
		return fmt.Errorf("a message contains %d bytes, more than the limit of %d", len(content), maxFrame)
	}
	var head [headBytes]byte
	binary.BigEndian.PutUint32(head[:], uint32(len(content)))
	if _, err := out.Write(head[:]); err != nil {
		return err
	}
	_, err = out.Write(content)
	return err
}

// read receives a message, and reserves memory for it. If the memory is not available, the rest of the message remains
// unread.
func (c codec) read(ctx context.Context, in io.Reader) (message, error) {
	inner, end := budget.Scope(ctx)
	defer end()
	var head [headBytes]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return message{}, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > maxFrame {
		return message{}, fmt.Errorf("a message contains %d bytes, more than the limit of %d", size, maxFrame)
	}
	// The buffer grows with the bytes that arrive, so that a length without content takes no memory.
	content, err := budget.ReadAll(inner, io.LimitReader(in, int64(size)), int64(size))
	if err != nil {
		return message{}, err
	}
	if len(content) < int(size) {
		return message{}, io.ErrUnexpectedEOF
	}
	memory, err := checkItems(content)
	if err != nil {
		return message{}, err
	}
	if err := budget.Reserve(ctx, memory); err != nil {
		return message{}, err
	}
	var m message
	if err := c.decode.Unmarshal(content, &m); err != nil {
		return message{}, fmt.Errorf("decode a message: %w", err)
	}
	return m, nil
}

// The major types of CBOR (RFC 8949) that are not numbers.
const (
	majorBytes = 2
	majorText  = 3
	majorList  = 4
	majorMap   = 5
	majorTag   = 6
)

var errMalformed = errors.New("the message is malformed")

// checkItems counts the items of a message without decoding it, and returns an estimate of the memory that they take.
func checkItems(content []byte) (memory int64, err error) {
	items := 0
	for len(content) > 0 {
		if items++; items > maxItems {
			return 0, errItems
		}
		major, argument := content[0]>>5, content[0]&0x1f
		skip := uint64(1)
		value := uint64(argument)
		if argument >= 24 {
			if argument > 27 {
				return 0, errMalformed
			}
			width := 1 << (argument - 24)
			if len(content) < 1+width {
				return 0, errMalformed
			}
			value = 0
			for _, b := range content[1 : 1+width] {
				value = value<<8 | uint64(b)
			}
			skip += uint64(width)
		}
		if major == majorBytes || major == majorText {
			if value > uint64(len(content)) {
				return 0, errMalformed
			}
			skip += value
		}
		if major == majorTag || skip > uint64(len(content)) {
			return 0, errMalformed
		}
		memory += memoryOf(major, value, uint64(len(content)))
		content = content[skip:]
	}
	return memory, nil
}

// memoryOf returns an estimate of the memory of an item. left is the size of the rest of the message, which bounds the
// elements of a map or a list.
func memoryOf(major byte, value, left uint64) int64 {
	elements := int64(min(value, left))
	switch major {
	case majorBytes, majorText:
		return budget.Text(elements)
	case majorList:
		return budget.List(elements)
	case majorMap:
		return budget.Map(elements)
	}
	return budget.Scalar
}
