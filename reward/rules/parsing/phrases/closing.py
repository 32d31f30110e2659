"""The sentences behind an answer that are said to its reader, as 'Let me know if you want 3 more examples' is."""
# ruff: noqa: RUF001 (letters that look like others are the point)

import re

MOST = 4  # sentences that are left out
LONGEST = 400  # characters of all of them
VERBS = (
    r"(?:show|give|explain|walk|provide|help|assist|add|do|go|try|write|work|solve|check|verify|break|elaborate"
    r"|clarify|share|continue|generate|create|make|list|prove|derive|recommend|suggest|tell|answer|include|offer"
    r"|expand|draw|illustrate|demonstrate|translate|compute|calculate)"
)
INVITES = (
    r"(?:(?:just |please )?(?:let me know|feel free|don['\u2019]t hesitate|do not hesitate|say so|reach out"
    r"|tell me(?! ?:)|(?:(?<=just )|(?<=please ))ask|ask (?:me|away|if|any))"
    rf"|i(?:['\u2019]d| would| am|['\u2019]m) (?:be )?(?:more than )?(?:happy|glad) to|i (?:can"
    rf"|could) (?:also )?{VERBS}"
    r"|i['\u2019]m here)\b"
)
OFFER = (
    rf"(?:(?:and|also|otherwise|but|for (?:example|instance)),? )?(?:{INVITES}"
    r"|(?:would|do) you (?:like|want|need|prefer)(?: (?:me|some|to|another|more|help|an?|the|\d+)\b|\?)"
    r"|(?:want me to|need (?:more|another|any|help)|is there anything|any (?:other |more |further )?questions)\b"
    rf"|(?:shall|should|can|could|may) (?:i|we) (?:also |now )?{VERBS}\b(?=[^?]*\?\W*\Z)"
    r"|(?:if|in case|should|whenever) (?:you(?:['\u2019]d)?|there['\u2019]s|there is|anything) [^\n]{0,200}?"
    rf"\b{INVITES})"
)
WISH = (
    r"(?:(?:i )?hope (?:this|that|it|you)\b|(?:i |we )?wish(?:ing)? (?:you|everyone|all)\b|(?:good|best of) luck\b"
    r"|happy (?:new|studying|learning|solving|coding|holidays|birthday|to help)\b|thank(?:s(?! to)| you)\b|cheers\b"
    r"|you['\u2019]re welcome\b|have (?:an?|fun)\b(?=.{0,40}\b(?:day|evening|night|week|weekend|time|year|one|holiday"
    r"|trip|fun|\d{4})\b))"
)
CHINESE = (
    r"(?:(?:如果|若|要是)(?:(?:你|您|大家)(?:还|仍|有|想|需|希|愿|对|要)|(?:还|仍)?有(?:任何|其[他它]|什么|别的|不[懂明]|疑问|问题))"
    r"[^\n]{0,60}?(?:告诉我|请(?:告诉|问|继续|联系|直接|尽管|让我)|随时|我可以(?:再|继续|为|给|帮|提供|讲|解)|我[很]?乐意|欢迎|提问|尽管)"
    r"|(?:你|您)?(?:是否|要不要|需要|想要?|希望)我[^\n]{0,60}吗|希望(?:这|对你|对您|以上|我的|能帮|上述)"
    r"|祝(?:你|您|大家)|(?:请|欢迎)随时|欢迎(?:继续|提问|追问)|(?:还)?有(?:任何|什么|其他)(?:其他|别的)?(?:问题|疑问)"
    r"|(?:谢谢|感谢|加油)[!\uff01。]|不客气)"
)
# Spanish, French, German, Italian, Portuguese, Russian
ELSEWHERE = (
    r"(?:¿?(?:quieres|quiere|deseas|desea|te gustaría|le gustaría|necesitas) (?:que|ver|un|otr|más|ayuda)|si (?:quieres"
    r"|necesitas|deseas|tienes)\b[^\n]{0,120}(?:puedo|dime|avísame|pregunt)|avísame|espero que|no dudes en"
    r"|n['\u2019]hésite[sz]?\b|(?:souhaite[sz]|voule[sz]|veux)[- ](?:vous|tu)\b|j['\u2019]espère que"
    r"|si (?:tu veux|vous voulez"
    r"|vous souhaitez|tu as|vous avez)\b[^\n]{0,120}(?:je peux|dites|demande)"
    r"|(?:wenn|falls) (?:du|sie) [^\n]{0,80}(?:kann ich|sag|lass|frag|melde)|möchtest du|möchten sie|soll ich"
    r"|(?:lass|lassen sie) (?:es )?mich wissen|ich hoffe|fammi sapere|spero che|vuoi che|espero ter|avise-me|quer que"
    r"|дайте знать|надеюсь|если (?:хотите|хочешь|нужно|у вас|будут)\b|(?:хотите|хочешь|нужно ли),? )"
)
START = re.compile(
    r"(?<=[.!?])(?<!e\.g\.)(?<!i\.e\.)[\"')*_$\\\]}]{0,4}\s+(?=\S)|\n\s*(?=\S)|(?<=[\u3002\uff01\uff1f])\s*(?=\S)"
    r"|\A\s*| [\u2013\u2014] |, (?=(?:just |please )?(?:let me know|feel free)\b)"
)
CLOSING = re.compile(rf"[\W_]{{0,8}}(?:{OFFER}|{WISH}|{ELSEWHERE}|{CHINESE})", re.IGNORECASE | re.DOTALL)
# A sentence that has the answer in it is none of these.
ANSWERS = re.compile(
    r"\\f?box|####|</?answer>|=(?!.*\?\W*\Z)|\b(?:thus|hence|therefore|so (?!i\b|that i\b|we\b))"
    r"|\banswers? ?(?:is|[:\uff1a])|答案[是为:\uff1a]",
    re.IGNORECASE | re.DOTALL,
)


def without_closing(text: str) -> str:
    """Return ``text`` without the offers, questions and wishes to the reader in which it ends."""
    first = max(0, len(text) - LONGEST)
    for _ in range(MOST):
        starts = [match.end() for match in START.finditer(text, first) if re.search(r"\w", text[match.end() :])]
        if not starts or not CLOSING.match(text, starts[-1]) or ANSWERS.search(text, starts[-1]):
            break
        text = text[: starts[-1]]
    return text
