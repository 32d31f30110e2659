"""Words of languages that IFEval never asks for, so that a text in one of them is not taken for English or Spanish.

They are those that the reference's langdetect knows besides IFEval's thirty.
"""
# ruff: noqa: RUF001 (letters that look like others)

WORDS: dict[str, dict[str, str]] = {
    "latin": {
        "nl": "de het een en van is dat in te niet zijn op met voor die aan er om ook als maar naar bij uit nog wordt"
        " worden heeft hebben deze dit dan wat of zich geen wel kan je jij hij zij wij ik mijn jouw onze haar hun over"
        " door tot tegen veel meer moet omdat hier daar waar hoe wie was waren kunnen zal",
        "af": "die en van is nie dat in te het vir met op hulle ons jy hy sy ek maar ook as wat aan by om uit kan sal"
        " word baie deur of so hierdie daardie my jou haar was na gaan moet",
        "sv": "och att det som en är av för på med den inte till ett har om de jag vi han hon du kan från var men så"
        " eller när ska vid mycket också skulle efter under mot detta denna dessa sin sitt sina mig dig hade blir",
        "da": "og at det som en er af for på med den ikke til et har om de jeg vi han hun du kan fra var men så eller"
        " når skal ved meget også efter under mod dette denne disse sin sit sine mig dig havde bliver blev hvor hvad",
        "no": "og at det som en er av for på med den ikke til et har om de jeg vi han hun du kan fra var men så eller"
        " når skal ved mye også etter under mot dette denne disse sin sitt sine meg deg hadde blir ble hvor hva noen",
        "ro": "și în de la a cu pe nu este că un o din care sunt pentru mai se ca să sau dar fi prin după foarte acest"
        " această lui lor ce am ai au fost poate noi voi ei ele când dacă spre între fără",
        "ca": "el la els les de i que en un una per amb és no del al dels als com més però seva seu aquest aquesta són"
        " molt sense sobre també ser hi quan perquè pot va ja meu ha has tu des entre cada amb",
        "cs": "a je v na se že to s z do o jsou ale jako pro by tak jsem si při nebo být ve k po který která které jeho"
        " její jejich byl byla bylo také když už není může jen co tento této podle mezi však",
        "sk": "a je v na sa že to s z do o sú ale ako pre by tak som si pri alebo byť vo k po ktorý ktorá ktoré jeho"
        " ich bol bola bolo tiež keď už nie môže len čo tento tejto podľa medzi však",
        "sl": "in je v na se da to z s za ki so ne pa tudi kot bi po do od iz pri ali biti bil bila bilo njegov ker če"
        " lahko zelo več samo ta te tega smo ste sem kako med še",
        "hr": "i je u na se da to s za koji su ne ali kao bi po do od iz pri ili biti bio bila bilo njegov jer ako može"
        " vrlo više samo taj ta te smo ste sam kako među još nije što koja koje prema",
        "hu": "a az és hogy nem is egy ez van meg de mint el csak ha volt azt vagy már még mert nagyon lehet minden ki"
        " fel ezt ami akkor után között lesz voltak ő én te mi ti ők itt ott alatt szerint",
        "tr": "ve bir bu için ile de da çok olarak en var daha gibi olan ne kadar sonra ama değil o ben sen biz siz"
        " mi mı her şey ya ki veya olduğu tarafından üzerinde göre ancak içinde",
        "id": "yang dan di ini itu dengan untuk tidak dari dalam akan pada adalah ke saya kami kita mereka anda dia"
        " atau sebagai oleh karena bisa ada telah dapat lebih sudah seperti tersebut saat tetapi namun bahwa",
        "tl": "ang ng sa na mga ay at ako ikaw siya kami tayo sila ito iyan iyon hindi para kung may mayroon ni si kay"
        " nang din rin lang ba po ko mo niya natin namin nila dahil pero kapag",
        "et": "ja on ei et ole sest seal siin see ta ma sa me te nad oli aga kui ka või siis oma mis kes seda selle"
        " veel väga ainult ning olid olla saab peale enne pärast juba mida",
        "lv": "un ir nav ka tas viņš viņa es tu mēs jūs viņi bija bet kā arī vai ja par no uz ar pie kas šis šī ļoti"
        " tikai vēl jau pēc pirms lai būt kad to",
        "lt": "ir yra nėra kad tai jis ji aš tu mes jūs jie buvo bet kaip taip pat ar jei apie iš į su prie kas šis ši"
        " labai tik dar jau po prieš būti kai arba nuo",
        "sq": "dhe është në një të për me nga që nuk si ka por kjo ky ai ajo unë ti ne ju ata më e i së shumë edhe ose"
        " kur do janë ishte kishte duke pas mund",
        "cy": "y yr yn mae a ac i o ar am gan gyda nid ddim bod oedd ond hefyd neu fel eu ei fy dy ein eich hwn hon"
        " roedd wedi cael sydd i'r o'r a'r na",
        "so": "waa iyo ka ku oo uu ay in la si ah leh loo wuxuu waxay aan ayaa laga lagu kuwa waxaa ma haddii laakiin"
        " inuu badan kale",
    },
    "cyrillic": {
        "mk": "и во не на што тој со како тоа по но од за да се е ја ќе или само кога ако веќе беше до при кон таа тие"
        " има нема сум сме сте овој оваа овие кој која кои може",
        "sr": "и у не на што он са као то по али од за да се је ће или само када ако већ био била до при ка она они има"
        " нема сам смо сте овај ова ови који која које може",
    },
}  # fmt: skip
