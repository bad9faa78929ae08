/** Characters of an answer that are read: who refuses says so at the start. */
const READ_CHARACTERS = 400;

/** What a refusing assistant would have done; a gap of at most two words may stand before it. */
const DEEDS =
  'help|assist|provide|comply|fulfil|fulfill|answer|discuss|share|create|generate|write|support|engage|participate|offer|give|' +
  'process|complete|continue|do (?:that|this|so|it)|respond|disclose|recommend|advise|perform|access|accept|produce|translate|' +
  'accommodate|proceed|talk about|speak (?:to|about)|reveal|tell you|show you|carry out|facilitate|encourage|browse|open|view';

/**
 * Openings of refusals and apologies by language. Expressions run over a bounded text, and every gap in them is bounded. The
 * text is lower case, its apostrophes are straight and its spaces single.
 */
const phrases: Readonly<Record<string, readonly RegExp[]>> = {
  en: [
    /^(?:i'm|i am|we're|we are)? ?(?:so |very |really |terribly |truly )?sorry\b(?! to (?:hear|read|learn)| (?:for|about) your loss| (?:that )?you)/,
    /^(?:i|we) (?:sincerely |deeply |do )?apologi[sz]e\b/,
    /^(?:my|our) (?:sincere |deepest )?apologies\b|^apologies\b/,
    new RegExp(
      `\\b(?:i|we) (?:can ?not|can't|can not|could not|couldn't|won't|will not|would not|wouldn't|may not|must not|am not going to) (?:\\w+ ){0,2}?(?:${DEEDS})\\b`,
    ),
    new RegExp(
      `\\b(?:i|we)(?:'m| am|'re| are) (?:unable|not able|not allowed|not permitted|not in a position) to (?:\\w+ ){0,2}?(?:${DEEDS})\\b`,
    ),
    /\b(?:i|we)(?:'m| am|'re| are) not comfortable (?:with )?\w/,
    /\b(?:i|we) (?:must|have to|need to|will have to|would have to) (?:respectfully |politely )?(?:decline|refuse)\b/,
    /\b(?:i|we) (?:respectfully |politely )?(?:decline|refuse) to\b/,
    /\bas an? (?:ai|artificial intelligence|large language|language model)\b[^.!?]{0,80}\b(?:can't|cannot|can not|unable|not able|don't|do not|won't)\b/,
    /\b(?:violates?|against) (?:my|our|the) (?:content |usage |use |safety |ethical )?(?:policy|policies|guidelines|programming)\b/,
  ],
  de: [
    /^(?:es )?tut mir (?:sehr |wirklich |echt )?leid\b(?!, das zu hören)/,
    /^(?:ich bitte um )?(?:entschuldigung|verzeihung)\b|^entschuldigen sie\b|^ich entschuldige mich\b/,
    /\b(?:ich|wir) (?:kann|können|darf|dürfen|werde|werden) (?:\S+ ){0,6}?(?:nicht|keine?n?) (?:\S+ ){0,4}?(?:helfen|weiterhelfen|unterstützen|beantworten|bereitstellen|geben|erstellen|schreiben|machen|teilen|nachkommen|behilflich)/,
    /\b(?:kann|können|darf|dürfen|werde) (?:ich|wir) (?:\S+ ){0,6}?(?:nicht|keine?n?) (?:\S+ ){0,4}?(?:helfen|weiterhelfen|unterstützen|beantworten|bereitstellen|geben|erstellen|schreiben|teilen|nachkommen|behilflich)/,
    /\b(?:ich|wir) (?:muss|müssen) (?:\S+ ){0,3}?ablehnen\b/,
    /\bich bin nicht in der lage\b/,
    /\bals (?:ki|sprachmodell)\b[^.!?]{0,80}\b(?:kann|darf) ich (?:\S+ ){0,4}?(?:nicht|keine?n?)\b/,
  ],
  fr: [
    /^(?:je suis |nous sommes )?(?:vraiment |sincèrement )?désolée?s?\b(?! d'apprendre)/,
    /^(?:toutes )?(?:mes|nos) excuses\b|^je (?:vous prie de m'excuser|m'excuse)\b|^excusez-moi\b/,
    /\bje ne (?:peux|puis|suis) (?:malheureusement )?pas (?:\S+ ){0,4}?(?:aider|fournir|répondre|donner|assister|créer|écrire|partager|accéder|en mesure|autorisée?|capable)/,
    /\bje (?:dois|me vois contrainte? de) (?:\S+ ){0,2}?(?:refuser|décliner)\b|\bje refuse de\b/,
    /\ben tant qu'(?:ia|intelligence artificielle|assistant)\b[^.!?]{0,80}\bne (?:peux|puis)\b/,
  ],
  es: [
    /^lo (?:siento|lamento)\b(?! mucho por tu pérdida)/,
    /^(?:mis|nuestras) disculpas\b|^(?:te |le )?pido disculpas\b|^me disculpo\b|^(?:perdón|disculpa|disculpe)\b/,
    /\bno (?:puedo|podemos|me es posible) (?:\S+ ){0,3}?(?:ayudar|proporcionar|responder|ofrecer|dar|asistir|crear|generar|escribir|compartir|cumplir|hacer eso|acceder)/,
    /\bno estoy (?:en condiciones|autorizad[oa]|capacitad[oa])\b/,
    /\bdebo (?:rechazar|negarme)\b|\bme niego a\b/,
    /\bcomo (?:ia|modelo de lenguaje|inteligencia artificial)\b[^.!?]{0,80}\bno puedo\b/,
  ],
  pt: [
    /^(?:sinto muito|lamento|desculpe|desculpa|peço desculpas?|as minhas desculpas|minhas desculpas)\b/,
    /\bnão (?:posso|consigo|podemos) (?:\S+ ){0,3}?(?:ajudar|fornecer|responder|oferecer|dar|criar|gerar|escrever|compartilhar|partilhar|atender|fazer isso|acessar|aceder)/,
    /\bnão estou (?:autorizad[oa]|em condições)\b/,
    /\b(?:devo|tenho de|tenho que) recusar\b|\brecuso-me\b/,
  ],
  it: [
    /^(?:mi dispiace|sono spiacente|siamo spiacenti|spiacente|chiedo scusa|mi scuso|scusa|scusi|le mie scuse)\b/,
    /\bnon (?:posso|possiamo|sono in grado di|mi è possibile) (?:\S+ ){0,3}?(?:aiutar|fornir|risponder|offrir|dare|crear|generar|scriver|condivider|assister|farlo|acceder|soddisfar)/,
    /\b(?:devo|mi vedo costretto a) rifiutar/,
  ],
  nl: [
    /^(?:het spijt me|het spijt mij|sorry|mijn excuses|excuses|mijn verontschuldigingen)\b(?! te horen)/,
    /\bik (?:kan|mag|zal) (?:\S+ ){0,4}?(?:niet|geen) (?:\S+ ){0,3}?(?:helpen|geven|beantwoorden|verstrekken|maken|schrijven|delen|assisteren)/,
    /\bik ben niet in staat\b|\bik moet (?:\S+ ){0,2}?weigeren\b/,
  ],
  sv: [
    /^(?:jag är ledsen|tyvärr kan jag|förlåt|jag ber om ursäkt|ursäkta)/,
    /\bjag kan (?:tyvärr )?inte (?:\S+ ){0,3}?(?:hjälpa|ge|svara|skapa|skriva|dela|tillhandahålla)/,
  ],
  pl: [
    /^(?:przepraszam|przykro mi|bardzo przepraszam|najmocniej przepraszam)/,
    /nie mogę (?:\S+ ){0,3}?(?:pomóc|udzielić|odpowiedzieć|podać|stworzyć|napisać|udostępnić|spełnić)/,
    /muszę odmówić|nie jestem w stanie/,
  ],
  ru: [
    /^(?:извините|простите|прошу прощения|приношу (?:свои )?извинения|к сожалению, я не|мне (?:очень )?жаль)/,
    /я не (?:могу|имею права|в состоянии|буду) (?:\S+ ){0,3}?(?:помо|предостав|ответ|дать|созда|напис|подел|выполн|сделать|обсужд)/,
    /(?:вынужден|вынуждена) отказать/,
  ],
  uk: [
    /^(?:вибачте|перепрошую|пробачте|на жаль, я не)/,
    /я не можу (?:\S+ ){0,3}?(?:допомо|надати|відпов|створ|напис|поділ|викон)/,
  ],
  tr: [
    /^(?:üzgünüm|özür dilerim|kusura bakmayın|maalesef)/,
    /(?:yardımcı olamam|yardımcı olamıyorum|yardım edemem|sağlayamam|cevaplayamam|yanıtlayamam|veremem|paylaşamam)/,
  ],
  ar: [
    /^(?:آسف|أعتذر|عذرا|عذرًا|نعتذر|للأسف)/,
    /(?:لا أستطيع|لا يمكنني|لا استطيع|لست قادر) (?:\S+ ){0,2}?(?:مساعد|تقديم|الإجابة|توفير|إنشاء|كتابة|مشاركة|تلبية)/,
  ],
  hi: [
    /^(?:क्षमा करें|माफ़ करें|माफ करें|मुझे खेद है|मुझे माफ़|मुझे माफ)/,
    /मैं (?:\S+ ){0,6}?(?:नहीं कर सकता|नहीं कर सकती|असमर्थ हूँ|नहीं दे सकता|नहीं दे सकती)/,
  ],
  zh: [
    /^(?:很|非常|十分|真的)?(?:抱歉|对不起|對不起|遗憾|遺憾)|^不好意思/,
    /我(?:们|們)?(?:无法|無法|不能|不可以|没法|沒法|没有办法)(?:\S{0,8}?)(?:帮|幫|协助|協助|提供|回答|满足|滿足|生成|创建|撰写|讨论|分享|执行|完成|访问|处理)/,
    /作为(?:一个|一個|一名)?(?:人工智能|ai|语言模型)\S{0,20}?(?:无法|不能)/,
  ],
  ja: [
    /^(?:大変|誠に|まことに)?(?:申し訳(?:ありません|ございません|ない)|すみません|ごめんなさい|恐れ入りますが|残念ながら)/,
    /(?:お手伝い|お答え|ご提供|提供|対応|お応え|回答|ご案内|共有|作成)(?:することは?|は|が)?(?:できません|できかねます|出来ません|致しかねます|いたしかねます)/,
  ],
  ko: [
    /^(?:정말 |대단히 )?(?:죄송|미안|유감|사과)/,
    /(?:도와드릴|도울|제공할|제공해 드릴|답변할|답변해 드릴|드릴|응할|작성할|공유할) ?수(?:가|는)? ?없/,
  ],
};

const all = Object.entries(phrases).flatMap(([language, list]) => list.map((phrase) => ({ language, phrase })));

/** Languages whose refusals are recognised, as ISO 639-1. */
export const refusalLanguages: readonly string[] = Object.keys(phrases);

/** Emphasis, quotes, list marks and emoji that stand before the first word. */
const LEADING_MARKS = /^[^\p{L}\p{N}]{1,64}/u;

const readable = (text: string): string =>
  text
    .slice(0, READ_CHARACTERS * 2)
    .normalize('NFC')
    .replaceAll(/[’‘ʼ`´]/g, "'")
    .replaceAll(/\s+/g, ' ')
    .replace(LEADING_MARKS, '')
    .slice(0, READ_CHARACTERS)
    .toLowerCase();

/**
 * Whether an answer opens as a refusal or an apology do. Read from its first 400 characters: cost does not grow with it.
 * @returns the language of the phrase, as ISO 639-1
 */
export const findRefusal = (answer: string): string | undefined => {
  const text = readable(answer);
  return all.find(({ phrase }) => phrase.test(text))?.language;
};
