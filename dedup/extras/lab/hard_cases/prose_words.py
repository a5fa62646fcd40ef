"""The words and the grammar of `prose.py`: about 1,500 words, and forms of sentences with gaps.

A gap in braces is filled by a word of that kind, or by a form of that name. Written for this purpose;
nothing is quoted.
"""

from __future__ import annotations

from collections.abc import Mapping


def _words(lists: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Each list as its words, each once; an underscore stands for a space."""
    return {
        kind: tuple(word.replace("_", " ") for word in dict.fromkeys(text.split()))
        for kind, text in lists.items()
    }


NAMES = _words(
    {
        "place start": """Alder Amber Ash Bal Barrow Bell Black Brack Bram Bren Calder Cam Carn Clay Cold
        Cor Crag Dal Darn Dray Dun Eld Elm Fair Fal Farn Fern Galt Glen Gran Grey Hal Harl Haver Hazel Hol
        Ister Kel Kess Kirk Lang Lark Lind Loch Lor Mal Mar Mel Mern Mill Mor Nor Oak Or Oster Pem Pend
        Quar Raven Red Ros Sal Sand Sel Stan Stone Strath Tarn Thorn Tor Val Vel Wald Wend Wick Wolf Yar
        Zell""",
        "place end": """beck borough bridge brook burn bury by combe cote dale den don fell field ford
        gate grove ham haven head hill holm hollow hurst ingham land leigh ley low marsh mere mill minster
        mond moor mouth ness port ridge shaw shore stead stock ton vale view ville wald water well wick
        wood worth""",
        "name start": """Ab Al An Ar Bar Bel Ber Bor Bran Cal Car Cas Cor Dar Del Dor El Em Er Fal Fen Fol
        Gar Gil Gor Hal Har Hol Ing Is Jan Jor Kal Kar Kov Lan Lar Lor Mal Mar Mon Nar Nel Nor Ol Os Pal
        Per Pol Quin Ral Ren Ros Sal Ser Sol Tal Ter Tor Ul Val Ver Vol Wal Wen Yor Zan Zel""",
        "name middle": """a an ber da den der di el en er go i in ka ke la lo ma me mi na ne no o ra ri ro
        ta te ti ver vi""",
        "name end": """bach berg by court dahl don dson feld ford gard ger good hart ing kins ko lan ley
        lin lock man mark mer moor nez nik nov quist rell rich ridge row sen shaw sky son stad stead ström
        ter ton va vich well wick win wright yer zak ñez""",
        "first name": """Aaron Ada Adele Agnes Alan Alba André Anita Arthur Astrid Basil Bea Boris Bruno
        Carla Cecil Chloé Clara Conrad Cora Dalia Dario Doris Edgar Edith Elias Elsa Emil Enid Esther
        Felix Flora Frank François Freda Gavin Gerda Gordon Greta Gustav Hannah Hector Helga Hugo Ida Igor
        Imogen Ines Ivan Jasper Joan Jonas José Judith Jürgen Karl Kasia Klara Lars Laura Leon Lidia Louis
        Lucía Lydia Magda Marcus Martha Miles Mónica Nadia Neil Nina Norman Olga Omar Oscar Paula Pavel
        Petra Quentin Ramón Renée Rita Roland Rosa Rufus Sandra Selma Simon Sofía Stella Tessa Theo Thomas
        Tilda Ursula Vera Victor Wanda Walter Xavier Yusuf Zelda Zoë""",
        "body": """Water_Authority Chamber_of_Commerce Hospital_Trust School_Board Police_Department
        Port_Authority Transit_Agency City_Council Housing_Fund Savings_Bank Steel_Works Power_Company
        Farmers'_Union Museum_of_Art Research_Institute Court_of_Appeal Fire_Service Health_Office
        Rail_Company Football_Club Weather_Office Trade_Commission Food_Bank Lawyers'_Guild Tourist_Board
        Election_Office""",
        "month": "Jan. Feb. March April May June July Aug. Sept. Oct. Nov. Dec.",
        "style": "Mr. Ms. Mrs. Dr.",
    }
)
"""Parts of the names of people, places and bodies that do not exist."""

WORDS = _words(
    {
        "role": """mayor lawyer surgeon teacher economist professor_of_law head_of_research police_chief
        county_sheriff bus_driver former_minister farmer retired_judge chief_engineer city_planner curator
        harbor_master union_leader spokesman spokeswoman deputy_director analyst historian nurse architect
        owner_of_a_bakery fire_captain campaign_manager goalkeeper coach biologist musician shop_owner
        senator ferry_captain prosecutor pilot school_principal hotel_manager film_maker""",
        "actor": """council court ministry company committee government opposition parliament commission
        jury board bank airline hospital school university club team army navy coalition agency insurer
        regulator publisher museum charity union factory brewery orchestra tribunal cabinet treasury
        senate utility developer retailer prosecutor governor president minister chairman judge defendant
        driver inspector inventor designer painter author champion striker veteran landlord tenant banker
        broker neighbor sculptor manager director treasurer farmer captain bishop ambassador diplomat""",
        "people": """workers residents officials doctors nurses teachers parents students police lawyers
        engineers farmers fishermen drivers voters lawmakers investors economists scientists researchers
        volunteers firefighters soldiers tourists passengers shoppers customers neighbors protesters
        activists employers employees managers directors players fans coaches critics artists actors
        musicians writers publishers lenders borrowers landlords tenants builders planners inspectors
        auditors detectives guards prisoners refugees pensioners veterans children families commuters
        cyclists climbers sailors traders brokers analysts rivals witnesses jurors""",
        "thing": """plan report budget bridge tunnel road railway station airport harbor ferry factory
        plant dam reservoir river valley forest beach island market street square tower theater museum
        library school hospital clinic prison court stadium arena festival concert film novel painting
        statue exhibition election campaign vote ballot debate law bill treaty contract deal merger
        takeover auction loan mortgage pension tax tariff subsidy grant fund debt deficit surplus profit
        loss price wage bonus strike protest march rally riot storm flood drought fire blast crash
        collision leak spill shortage outbreak virus vaccine drug trial verdict sentence appeal lawsuit
        settlement inquiry review audit survey study experiment satellite rocket telescope laboratory
        computer network website software machine engine battery turbine pipeline refinery mine quarry
        farm harvest crop orchard vineyard kitchen restaurant hotel brewery bakery shop warehouse
        container truck bus train tram bicycle aircraft helicopter ship yacht match final league season
        title record defeat victory transfer injury penalty goal referee program schedule timetable permit
        license fine ban curfew border checkpoint embassy summit ceremony funeral wedding parade holiday
        weekend winter summer evening morning cathedral chapel monument fountain garden park playground
        pool apartment building roof basement elevator corridor office desk letter document archive
        photograph video broadcast interview statement promise warning threat rumor secret mistake defense
        labor color neighborhood fiber catalog""",
        "things": """documents records letters plans permits rules limits fines taxes prices wages
        pensions loans debts bonds shares profits losses jobs homes houses flats roofs roads bridges
        tunnels trains buses trams flights ferries ships boats trucks cars bicycles engines batteries
        turbines pipes cables wires masts towers walls windows doors lamps books films songs plays
        paintings statues coins stamps maps charts photographs videos emails messages calls complaints
        appeals lawsuits charges claims bids offers contracts deals votes ballots seats posts schools
        classes exams lessons hospitals beds drugs tests vaccines samples crops apples potatoes olives
        grapes cattle sheep horses dogs birds bees fish trees rivers lakes wells springs storms floods
        fires strikes protests delays repairs cuts grants gifts tickets goals points medals matches meters
        kilometers centers colors programs theaters harbors""",
        "adj": """new old large small local national regional annual public private former senior rural
        urban foreign common rare recent early late sudden quiet heavy light narrow broad deep shallow
        steep rapid slow steady sharp modest huge tiny empty crowded busy costly cheap free fair secret
        open closed safe risky legal illegal formal final initial partial total simple complex modern
        ancient historic famous unknown popular bitter sweet warm cold frozen dry wet muddy dusty clean
        dirty green blue red white black gray bright dark loud gentle rough smooth strong weak tough soft
        firm loose rich poor wealthy proud angry hopeful anxious nervous calm cautious bold careful
        careless honest loyal rival joint separate distant nearby coastal northern southern eastern
        western central outer inner upper lower medical financial industrial military political social
        cultural scientific technical digital electric wooden concrete temporary permanent seasonal daily
        weekly monthly controversial ambitious unusual disputed delayed damaged ruined restored planned
        proposed promised missing stolen forgotten abandoned independent emergency""",
        "did": """approved rejected announced delayed opened closed bought sold built repaired replaced
        removed inspected investigated criticized defended supported opposed questioned challenged ignored
        praised blamed welcomed condemned discussed debated reviewed revised drafted signed canceled
        postponed suspended resumed launched ended extended shortened widened narrowed doubled halved
        raised lowered cut froze increased reduced limited banned permitted licensed organized authorized
        financed funded taxed insured audited measured tested sampled studied mapped photographed filmed
        recorded published printed posted leaked hid found lost recovered returned seized searched guarded
        protected threatened attacked damaged destroyed flooded burned evacuated rescued cleared cleaned
        painted restored renamed moved shipped loaded unloaded delivered ordered rented leased auctioned
        donated won defeated beat joined left entered crossed blocked visited toured watched recognized
        emphasized described explained predicted warned promised demanded requested accepted refused
        dismissed appealed settled reopened transformed reorganized""",
        "do": """approve reject delay open close buy sell build repair replace remove inspect investigate
        defend support oppose question challenge ignore review revise draft sign cancel postpone suspend
        resume launch end extend shorten widen double halve raise lower cut freeze reduce limit ban permit
        license organize authorize finance fund tax insure audit measure test study map film record
        publish print hide find recover return seize search guard protect threaten damage flood burn
        evacuate rescue clear clean paint restore rename move ship load deliver order rent lease auction
        donate win beat join leave enter cross block visit watch describe explain predict demand request
        accept refuse dismiss settle reopen analyze""",
        "went": """fell rose grew shrank slowed stalled collapsed recovered vanished appeared emerged
        stopped started ended failed succeeded waited hesitated agreed argued resigned retired returned
        arrived departed slipped climbed jumped doubled tumbled faded expanded disappeared lingered
        rallied drifted apologized""",
        "adv": """quietly slowly rapidly suddenly sharply steadily formally briefly openly secretly
        reluctantly eagerly finally initially repeatedly rarely often nearly barely partly largely mostly
        entirely jointly separately abruptly gradually narrowly widely firmly bluntly calmly angrily
        cautiously unexpectedly publicly privately twice already still never""",
        "weekday": """Monday Tuesday Wednesday Thursday Friday Saturday Sunday""",
    }
)
"""Kind of word -> the words."""

_FORMS = {
    "sentence": """{clause}. | {clause}. | {clause}, {says} {voice}. | {clause}, {says} {voice}. | {when},
        {clause}. | {clause} {where} {when}. | {clause} {after} {clause}. | {clause}, {but} {clause}. |
        "{quote}," {says} {voice}. | "{quote}," {says} {voice}. "{quote}." | "{quote}," {says} {voice},
        {adding} {clause}. | {voice} {says} {clause} {where}. | {voice} {says} {that} {clause}. | {voice}
        told {people} {that} {clause}. | {person}, {age}, {past} {where} {when}. | {person}, {who}, {past}
        {when}. | {np} - {aside} - {past} {where}. | about {number} {people} {past} {where}, {np} {says}.
        | {share} of {plural} {past} {when}, {compared} {share} {earlier}. | the {thing}, {which}, {past}
        {when}. | {np} will {do} {object} {future}, {says} {voice}. | neither {np} nor {np} {past} {when}.
        | {until} {np} {past}, {np} had {adv} {did} {object}. | {to_do}, {np} {past} {where}. | {people}
        {where} {did} {object}, {while} {np} {past}. | the {ordinal} {adj} {thing} {when} {did} {small}
        {people}. | {clause} - {aside}. | {clause} - and {clause}. | {np} {did} {object} {where} - {aside}
        - {when}.""",
    "clause": """{np} {past} | {np} {past} | {np} {did} {object} {where} | {np} {did} {object} {when} |
        {np} had {adv} {did} {object} | {plural} {past} {where} | {object} was {adv} {did} by {np} | {np}
        of {place} {past} | {surname} {past} {when} | {surname} and {np} {did} {object} | the {adj}
        {thing} {went} {where} | {plural} in {place} {went} by {ratio} {unit} | {np} {wants} {to_do} |
        {org} {past} | {org} {wants} {to_do}""",
    "past": """{did} {object} | {did} {adj} {things} | {did} {object} {where} | {adv} {did} {object} |
        {went} {when} | {adv} {went} {where} | {went} {by} | {did} {plural} and {object} | {wants} {to_do}
        | {did} {things}, {things} and {adj} {people}""",
    "wants": """hoped | wanted | planned | tried | refused | agreed | offered | failed | vowed | was ready
        | seemed unlikely | will try | decided | appeared unwilling | had promised | was not able""",
    "np": """the {adj} {actor} | the {adj} {actor} | a {adj} {actor} | the {people} | {adj} {people} |
        {adj} {people} | {people} from {place} | the {actor} of {place} | several {people} | {place}
        {people} | {surname} | {org} | the {role} | a {role} from {place} | most {people} | {small}
        {people} | their {adj} {actor} | her {adj} {actor} | the U.S. {actor} | other {adj} {people} | any
        {adj} {actor} | both the {actor} and the {people}""",
    "object": """the {adj} {thing} | the {adj} {thing} | a {adj} {thing} | {small} {adj} {things} |
        {number} {things} | {adj} {things} | {adj} {things} | several {things} | the {things} of {np} | a
        {thing} and its {things} | the {place} {thing} | all {things} | their {adj} {things} | a {thing}
        for {people} | her {adj} {things} | a {number}-{measure} {thing} | {money} worth of {things} | the
        {thing} at {place} {landmark} | every {thing} | another {adj} {thing}""",
    "plural": """{things} | {adj} {things} | {people} | {adj} {people} | the {adj} {things} | {adj} {adj}
        {things}""",
    "where": """in {place} | near {place} | at the {thing} | outside the {thing} | behind the {adj}
        {thing} | in a {thing} near {place} | across {place} | at a {thing} in {place} | from {place} to
        {place} | between {place} and {place} | not far from {place} | beside a {adj} {thing} | in the
        {thing} of {place} | {small} miles from {place} | around {place} {landmark} | along the {adj}
        {thing} | throughout {place}""",
    "when": """on {weekday} | on {day} | in {year} | late on {weekday} | early {weekday} | last {weekday}
        | {weekday} {evening} | for {small} weeks | during the {adj} {thing} | at {clock} | for the
        {ordinal} time | within {small} months | {small} days ago | since {day} | after a {adj} {thing} |
        before the {thing} | this {evening} | in less than {small} hours | until {day} | during {adj}
        {things} | despite {adj} {things}""",
    "evening": """morning | afternoon | evening | night""",
    "future": """on {weekday} | by {day} | within {small} days | next {weekday} | unless {np} {past} | if
        {np} {past}""",
    "by": """by {ratio} {unit} | to {number} | to {money} | without {object} | together with {people} |
        like {adj} {things}""",
    "after": """after | as | when | and | once | even as | because | just as | since | so | if | where""",
    "but": """but | and | yet | so | or | though | although | while""",
    "while": """while | as | and | but | though""",
    "until": """until | by the time | before | when | whenever""",
    "that": """that | that | how | why | {weekday} that | in {place} that""",
    "to_do": """to {do} {object} | to {do} {object} {where} | to {do} {plural} | to {do} {object} {when} |
        to {do} or {do} {object} | not to {do} {object}""",
    "says": """said | said | said | added | argued | insisted | explained | recalled | warned | noted |
        wrote | says""",
    "voice": """{person} | {surname} | {surname} | the {adj} {role} | {person}, {who} | {person} of {org}
        | {org} | a {role} for {org} | several {people} | a {role} in {place} | {people} {where}""",
    "who": """a {adj} {role} | {role} of {place} | a {adj} {role} | {role} at {org} | who {did} {object} |
        the {role} of {org} | a {role} from {place}""",
    "which": """which {past} | which {np} {did} | which {surname} {did} {when} | {did} by {np} | {did}
        {when} | the {ordinal} {where} | worth {money}""",
    "aside": """{did} by {np} | and {object} | {small} of them {where} | a {adj} {thing} | or {np} | once
        a {adj} {thing} | now {adj} and {adj}""",
    "adding": """adding that | and | and said | who said | as | though""",
    "quote": """we {did} {object}, and {np} {past} | I {did} {object} {when} | it is a {adj} {thing} for
        {people} | you do not {do} {object} {where} | we are {adj} and {adj}, but we {did} {object} | if
        you {do} {object}, {np} {past} | there is no {thing} {where} ... and {object} {went} | my {actor}
        {past}, so I {did} {object} | they {did} {object}, it is as {adj} as {object} | it was {adj}, it
        was {adj}, and {np} {past} | nobody should {do} {object} | all we {did} was {do} {object} | he
        {did} {object} ... she {did} {object} | no one can {do} {object} for {people} | who will {do}
        {object} if {np} {past} | this {thing} is not {adj}, it is {adj} | let us {do} {object} and {do}
        {things} | the {thing} has {adv} {went}, and so has {object} | I thought about {object} ...
        {people} {past} | well ... {np} {did} {object} {where} | we waited, and waited ... {object} {went}
        {when} | first {object} {went} ... then {object} {went}""",
    "share": """{ratio} percent | {small} in 20 | a {ordinal} | {number} | most | almost all""",
    "compared": """up from | down from | against | but not | far from | compared with""",
    "earlier": """in {year} | a year ago | on {day} | in {place} | at {org}""",
    "ordinal": """first | second | third | fourth | fifth | sixth | seventh | ninth | tenth""",
    "measure": """acre | mile | page | ton | seat | year | day | foot | room | bed""",
    "unit": """percent | percent | points | meters | kilometers | tons | miles | degrees""",
    "landmark": """Road | Street | Hall | Square | Bridge | Park | Court | Cross | Lane | Hill""",
    "headline": """{place} {actor} {did} {adj} {thing} | {org} to {do} {things} {where} | {adj} {thing}
        {went} {where} | {people} {do} {adj} {things} as {thing} {went} | {surname} {did} {thing} {where}
        | {small} {people} {did} {thing} {when} | how {place} {did} its {adj} {thing} | what the {adj}
        {thing} of {place} may {do} | {place} {thing}: {number} {things} {did} | after {thing}, {people}
        in {place} {do} {things}""",
}
FORMS: dict[str, tuple[str, ...]] = {
    name: tuple(" ".join(form.split()) for form in text.split("|")) for name, text in _FORMS.items()
}
"""Name of a form -> its variants, each as likely as the others."""
