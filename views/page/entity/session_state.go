package entity

import (
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"

	"mayfly/views/component"
	"mayfly/views/page/message"
	"mayfly/views/sample"
)

// stateInForm is the largest state, in bytes, that the form is filled in with.
const stateInForm = 64 << 10

// form returns the values of the form: the typed ones, else the stored state, as text if
// possible.
func (m Session) form() StateForm {
	if m.Typed != (StateForm{}) {
		return m.Typed
	}
	b := m.State.Content
	switch {
	case !m.State.Whole() || len(b) > stateInForm:
		return StateForm{As: StateText}
	case isProse(b):
		return StateForm{Text: string(b), As: StateText}
	default:
		return StateForm{Text: hexLines(b), As: StateHex}
	}
}

// chooseView returns the view of the state to show, hexadecimal by default if the state is not
// text, and the document as a tree if the state is one.
func (m Session) chooseView() (view message.BodyView, tree component.Tree) {
	if m.View == "" && !isProse(m.State.Content) {
		return m.State.ChooseView(message.HexView)
	}
	return m.State.ChooseView(m.View)
}

// isProse reports whether a form can show b and send it back unchanged, apart from line ends.
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

// hexLines writes bytes as hexadecimal digits, sixteen bytes to a line.
func hexLines(b []byte) string {
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

// task returns the task of a sample program that takes the session.
func (m Session) task() sample.Task {
	t := sample.Task{InSession: true, Session: m.ID, Receives: true}
	if m.Topic == "" {
		t.Queue = m.Name
	} else {
		t.Topic, t.Subscriber = m.Topic, m.Name
	}
	return t
}
