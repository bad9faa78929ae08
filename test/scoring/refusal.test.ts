import { describe, expect, it } from 'vitest';
import { findRefusal, refusalLanguages } from '../../src/scoring/refusal.ts';

const refusals: readonly (readonly [language: string, answer: string])[] = [
  ['en', "I'm sorry, but I can't help with that."],
  ['en', 'I’m sorry, but I cannot assist with that request.'],
  ['en', 'Sorry, I am not able to process refunds over 500 EUR.'],
  ['en', 'I apologize for the confusion earlier.'],
  ['en', '**Unfortunately, I am unable to provide** medical advice.'],
  ['en', 'As an AI language model, I do not have access to your account.'],
  ['en', 'I must respectfully decline to write that.'],
  ['en', 'Thank you for asking. However, I won’t be able to help, and I can not discuss this topic.'],
  ['en', 'This request violates our content policy.'],
  ['en', 'My apologies, there was a mix-up.'],
  ['de', 'Es tut mir leid, aber dabei kann ich Ihnen nicht helfen.'],
  ['de', 'Leider kann ich Ihnen bei dieser Anfrage nicht weiterhelfen.'],
  ['de', 'Entschuldigung, das ist mir nicht möglich.'],
  ['fr', 'Je suis désolé, mais je ne peux pas vous aider.'],
  ['fr', 'Malheureusement, je ne peux pas vous fournir ces informations.'],
  ['es', 'Lo siento, pero no puedo ayudarte con eso.'],
  ['es', 'Por desgracia no puedo proporcionar esa información.'],
  ['pt', 'Desculpe, não posso ajudar com isso.'],
  ['pt', 'Infelizmente não posso fornecer esses dados.'],
  ['it', 'Mi dispiace, non posso aiutarti.'],
  ['it', 'Purtroppo non posso fornire queste informazioni.'],
  ['nl', 'Het spijt me, maar ik kan je daar niet mee helpen.'],
  ['sv', 'Jag är ledsen, men jag kan inte hjälpa till med det.'],
  ['pl', 'Przepraszam, ale nie mogę pomóc w tej sprawie.'],
  ['ru', 'Извините, но я не могу помочь с этим запросом.'],
  ['ru', 'Боюсь, я не могу предоставить эти данные.'],
  ['uk', 'Вибачте, але я не можу допомогти з цим.'],
  ['tr', 'Üzgünüm, bu konuda yardımcı olamam.'],
  ['ar', 'آسف، لا أستطيع مساعدتك في ذلك.'],
  ['hi', 'क्षमा करें, मैं इसमें आपकी मदद नहीं कर सकता।'],
  ['zh', '抱歉，我无法提供这方面的帮助。'],
  ['zh', '很遗憾，我不能回答这个问题。'],
  ['ja', '申し訳ありませんが、そのご要望にはお応えできません。'],
  ['ja', 'その内容については回答できません。'],
  ['ko', '죄송하지만 그 요청은 도와드릴 수 없습니다.'],
];

const answers: readonly string[] = [
  'Your refund of 40 EUR is on its way.',
  "I'm sorry to hear that your parcel is late. It arrives on Friday.",
  "You can't park there between 8 and 18 h.",
  'The function cannot return null, so the check is not needed.',
  'I can help with that! First, open the settings.',
  'As an AI language model I was trained on text, and I love questions.',
  'The policy covers water damage.',
  'Der Zug kann heute nicht fahren; nehmen Sie den Bus.',
  'Le magasin ne peut pas ouvrir le dimanche ; venez samedi.',
  'La tienda no puede abrir el domingo; venga el sábado.',
  'Il negozio non può aprire la domenica.',
  'De winkel kan zondag niet open.',
  'Магазин не может открыться в воскресенье.',
  '商店星期天不能营业，请星期六来。',
  'その店は日曜日に営業できません。',
  '{"status":"declined","reason":"card expired"}',
  '',
];

describe('not_a_refusal: a refusal or apology', () => {
  it.each(refusals)('in %s: %s', (language, answer) => expect(findRefusal(answer)).toBe(language));

  it('is tried in every language that is listed', () =>
    expect(new Set(refusals.map(([language]) => language))).toEqual(new Set(refusalLanguages)));

  it.each(answers)('is not: %s', (answer) => expect(findRefusal(answer)).toBeUndefined());

  it('is read from the first 400 characters alone, so that a long answer costs no more', () => {
    const refusal = "I can't help with that.";
    expect(findRefusal(`${'a '.repeat(180)}${refusal}`)).toBe('en');
    expect(findRefusal(`${'a '.repeat(250)}${refusal}`)).toBeUndefined();
  });
});
