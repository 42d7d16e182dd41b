package page

import (
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"

	"mayfly/views/component"
	"mayfly/views/sample"
)

// stateInForm is the largest state, in bytes, that a form is filled in with.
const stateInForm = 64 << 10

// form is what the form of the state shows: what was typed, else what is
// stored, as text if it is some.
func (m Session) form() StateForm {
	if m.Typed != (StateForm{}) {
		return m.Typed
	}
	b := m.State.Content
	switch {
	case !m.State.whole() || len(b) > stateInForm:
		return StateForm{As: StateText}
	case isProse(b):
		return StateForm{Text: string(b), As: StateText}
	default:
		return StateForm{Text: pairs(b), As: StateHex}
	}
}

// looked is the view of the state that is shown, which is hexadecimal where it
// is no text and nobody asked for another; tree is the document if it is one.
func (m Session) looked() (view BodyView, tree component.Tree) {
	if m.View == "" && !isProse(m.State.Content) {
		return m.State.looked(HexView)
	}
	return m.State.looked(m.View)
}

// isProse says whether a form can show b and send the same back: line ends
// alone would not survive it.
func isProse(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	for _, r := range string(b) {
		if unicode.Is(unicode.C, r) && r != '\n' && r != '\t' {
			return false
		}
	}
	return true
}

// pairs writes bytes as hexadecimal digits, sixteen bytes to a line.
func pairs(b []byte) string {
	var s strings.Builder
	for i, x := range b {
		switch {
		case i == 0:
		case i%16 == 0:
			s.WriteByte('\n')
		default:
			s.WriteByte(' ')
		}
		s.WriteString(hex.EncodeToString([]byte{x}))
	}
	return s.String()
}

// task is what a program does that takes the session.
func (m Session) task() sample.Task {
	t := sample.Task{InSession: true, Session: m.ID, Receives: true}
	if m.Topic == "" {
		t.Queue = m.Name
	} else {
		t.Topic, t.Subscriber = m.Topic, m.Name
	}
	return t
}
