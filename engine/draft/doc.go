// Package draft is messages as somebody writes them down before there are any:
// with placeholders, to be sent many times over, or to be kept by a name.
//
//	Text     a text with placeholders, and what it is for the first, second, … message
//	Draft    a message whose members are such texts, and how often it is sent
//	Mould    a draft that was understood; Mould.Message makes one message of it
//	Template a draft under a name, as a namespace keeps it: Save, Rename, Drop
//
// But for these three it is pure: the instant and the seed of what is random are arguments, so that
// the same draft, seed and number make the same message whenever that is. A
// preview shows what is sent, and a job that was interrupted goes on with what it
// would have sent.
//
// # Placeholders
//
// A placeholder stands between {{ and the next }}, spaces inside do not matter:
//
//	{{n}}             the number of the message, from 1
//	{{n+100}}         and a whole number added to it, or taken from it: {{n-1}}
//	{{n%10}}          what is left when it is divided: 0 to 9, and then again
//	{{count}}         how many messages there are
//	{{uuid}}          a random UUID
//	{{now}}           when the sending began: 2026-07-14T10:00:00.000Z
//	{{now+5m}}        and so much later, or earlier: {{now-1h30m}}
//	{{unix}}          the same in seconds since 1970: {{unix+5m}}
//	{{random 1 100}}  a random whole number, the ends included
//	{{pick a|b|c}}    one of several texts; what stands between the bars is taken as it is
//	{{letters 20}}    so many random small letters and digits
//
// A backslash before {{ has it stay as it is: \{{n}} is {{n}}. Two backslashes there
// are one, and a placeholder follows. A }} without {{ before it is nothing special,
// nor is a single brace, so that JSON needs no care.
package draft
